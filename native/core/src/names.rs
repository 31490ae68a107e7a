//! The functions of a sealed profile and the stacks they form, as few pieces of memory: many profiles are
//! opened for one question.

use crate::perf_script::DEEPEST_STACK;
use crate::profile::{FrameKind, FrameRef};

/// Functions, and the stacks they form.
#[derive(Debug, Default)]
pub struct Names {
    pub(crate) names: Texts,
    pub(crate) modules: Texts,
    pub(crate) offsets: Vec<i64>,
    pub(crate) kinds: Vec<FrameKind>,
    /// Stacks of frames, outermost first.
    pub stacks: Stacks,
}

impl Names {
    /// How many functions there are.
    pub fn frames(&self) -> usize {
        self.names.len().min(self.modules.len()).min(self.offsets.len()).min(self.kinds.len())
    }

    /// Whether one has no name.
    pub(crate) fn is_nameless(&self, number: u32) -> bool {
        self.names.get(number as usize).is_empty()
    }

    /// One of them.
    pub fn frame(&self, number: u32) -> FrameRef<'_> {
        let number = number as usize;
        FrameRef {
            name: self.names.get(number),
            module: self.modules.get(number),
            offset: self.offsets[number] as u64,
            kind: self.kinds[number],
        }
    }
}

/// Texts one after the other.
#[derive(Debug, Default)]
pub struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.all.push_str(&String::from_utf8_lossy(text));
        self.ends.push(self.all.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, number: usize) -> &str {
        &self.all[number.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[number]]
    }
}

/// Stacks one after the other.
#[derive(Debug, Default)]
pub struct Stacks {
    frames: Vec<u32>,
    ends: Vec<usize>,
}

impl Stacks {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The frames of one, outermost first.
    pub fn get(&self, number: u32) -> &[u32] {
        let number = number as usize;
        &self.frames[number.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[number]]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len() as u32).map(|number| self.get(number))
    }

    /// The lists of a Parquet column: a value belongs to the row in which it is repeated. None: they are none.
    pub(crate) fn of_lists(values: Vec<i32>, definition: &[i16], repetition: &[i16]) -> Option<Self> {
        let mut ends: Vec<usize> = Vec::new();
        let mut end = 0;
        for (&defined, &repeated) in definition.iter().zip(repetition) {
            if repeated == 0 {
                ends.push(end);
            }
            end += usize::from(defined == 1);
            *ends.last_mut()? = end;
        }
        let mut begin = 0;
        for &end in &ends {
            if end - begin > DEEPEST_STACK {
                return None;
            }
            begin = end;
        }
        let frames: Vec<u32> = values.into_iter().map(|frame| frame as u32).collect();
        (end <= frames.len()).then_some(Self { frames, ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_with_and_without_frames() {
        let stacks = Stacks::of_lists(vec![7, 8, 9], &[0, 1, 1, 0, 1], &[0, 0, 1, 0, 0]).unwrap();
        let rows: Vec<&[u32]> = stacks.iter().collect();
        let wanted: [&[u32]; 4] = [&[], &[7, 8], &[], &[9]];
        assert_eq!(rows, wanted);
        assert!(Stacks::of_lists(vec![7], &[1, 1], &[0, 1]).is_none());
        assert!(Stacks::of_lists(vec![7], &[1], &[1]).is_none());
    }

    #[test]
    fn texts_that_are_not_utf8_are_replaced() {
        let mut texts = Texts::default();
        [b"one".as_slice(), b"", b"\xff"].iter().for_each(|text| texts.push(text));
        assert_eq!((texts.get(0), texts.get(1), texts.get(2)), ("one", "", "\u{fffd}"));
    }
}
