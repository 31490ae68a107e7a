//! The symbols that begin last before some addresses, out of any number that come by.
//!
//! The table of symbols is read once and not kept: what it takes is for the addresses, of which there are few.

/// Sorted addresses, and for each the symbol that begins nearest before it.
pub struct Nearest<T> {
    addresses: Vec<u64>,
    /// By address: the symbol nearest before it that begins behind the address before.
    found: Vec<Option<(u64, T)>>,
}

impl<T> Nearest<T> {
    /// Nothing is known of these addresses.
    pub fn new(addresses: impl IntoIterator<Item = u64>) -> Self {
        let mut addresses: Vec<u64> = addresses.into_iter().collect();
        addresses.sort_unstable();
        addresses.dedup();
        let found = addresses.iter().map(|_| None).collect();
        Self { addresses, found }
    }

    /// Whether there are no addresses.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// The place for a symbol that begins here: what is known to begin at the same address, or nothing. None:
    /// it is nearest to none of the addresses.
    pub fn place(&mut self, start: u64) -> Option<&mut Option<(u64, T)>> {
        let number = self.addresses.partition_point(|&address| address < start);
        let place = self.found.get_mut(number)?;
        match place {
            Some((known, _)) if *known > start => None,
            Some((known, _)) if *known == start => Some(place),
            _ => {
                *place = None;
                Some(place)
            }
        }
    }

    /// Every address with the symbol nearest before it, as `(address, where the symbol begins, symbol)`.
    pub fn all(&self) -> impl Iterator<Item = (u64, u64, &T)> {
        let mut nearest: Option<&(u64, T)> = None;
        self.addresses.iter().zip(&self.found).filter_map(move |(&address, found)| {
            nearest = found.as_ref().or(nearest);
            nearest.map(|(start, symbol)| (address, *start, symbol))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of symbols that replace those that begin at the same address.
    fn nearest(addresses: &[u64], symbols: &[(u64, char)]) -> Vec<(u64, u64, char)> {
        let mut nearest = Nearest::new(addresses.iter().copied());
        for &(start, name) in symbols {
            if let Some(place) = nearest.place(start) {
                *place = Some((start, name));
            }
        }
        nearest.all().map(|(address, start, &name)| (address, start, name)).collect()
    }

    #[test]
    fn symbols_come_in_any_order() {
        let expected = [(5, 5, 'b'), (8, 5, 'b'), (30, 21, 'd'), (40, 21, 'd')];
        let mut symbols = [(4, 'a'), (5, 'b'), (20, 'c'), (21, 'd'), (41, 'e'), (u64::MAX, 'f')];
        for _ in 0..symbols.len() {
            symbols.rotate_left(1);
            assert_eq!(nearest(&[40, 8, 5, 30, 8], &symbols), expected);
        }
        assert_eq!(nearest(&[3], &symbols), []);
        assert_eq!(nearest(&[], &symbols), []);
        assert_eq!(nearest(&[u64::MAX, 0], &[(0, 'z')]), [(0, 0, 'z'), (u64::MAX, 0, 'z')]);
    }

    #[test]
    fn of_those_that_begin_together_the_caller_chooses() {
        assert_eq!(nearest(&[7], &[(5, 'a'), (5, 'b')]), [(7, 5, 'b')]);
        let mut first = Nearest::new([7]);
        for name in ['a', 'b'] {
            if let Some(place @ None) = first.place(5) {
                *place = Some((5, name));
            }
        }
        assert_eq!(first.all().collect::<Vec<_>>(), [(7, 5, &'a')]);
    }
}
