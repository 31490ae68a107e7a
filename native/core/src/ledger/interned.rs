//! Things that are mentioned often, kept once and called by a small number.

use std::collections::HashMap;
use std::hash::Hash;

/// So many at most. Number 0 is for what finds no place.
pub const MOST: usize = 1000;

/// A bounded list of different things.
pub struct Interned<T> {
    numbers: HashMap<T, u16>,
    things: Vec<Option<T>>,
    free: Vec<u16>,
}

impl<T: Hash + Eq + Clone> Interned<T> {
    /// With the thing that stands for all others.
    pub fn new(other: T) -> Self {
        Self { numbers: HashMap::new(), things: vec![Some(other)], free: Vec::new() }
    }

    /// What a number stands for.
    pub fn get(&self, number: u16) -> &T {
        match self.things.get(usize::from(number)) {
            Some(Some(thing)) => thing,
            _ => self.things[0].as_ref().expect("the first one is never taken out"),
        }
    }

    /// The number of a thing that is known.
    pub fn find<Q: Hash + Eq + ?Sized>(&self, thing: &Q) -> Option<u16>
    where
        T: std::borrow::Borrow<Q>,
    {
        self.numbers.get(thing).copied()
    }

    /// The number of a thing that is new; 0 where there is no room.
    pub fn add(&mut self, thing: T) -> u16 {
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.things.len() > MOST => return 0,
            None => {
                self.things.push(None);
                u16::try_from(self.things.len() - 1).unwrap_or(0)
            }
        };
        self.things[usize::from(number)] = Some(thing.clone());
        self.numbers.insert(thing, number);
        number
    }

    /// How many numbers there are, free ones included.
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// Whether one more would find no place.
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.things.len() > MOST
    }

    /// Forget what is not in use.
    pub fn keep(&mut self, used: &[bool]) {
        for (number, thing) in self.things.iter_mut().enumerate().skip(1) {
            if !used[number]
                && let Some(thing) = thing.take()
            {
                self.numbers.remove(&thing);
                self.free.push(u16::try_from(number).unwrap_or(0));
            }
        }
    }
}
