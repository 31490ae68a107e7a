//! A profile: samples in the order of time, and the tables they refer to.
//!
//! Every importer makes one of these, sealing writes it, and nothing downstream knows where it came from.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use crate::hash::{FastHasher, FastMap};

/// What kind of code a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// The kernel or a module of it.
    Kernel,
    /// A program or library.
    User,
    /// Code made at run time.
    Jit,
    /// No mapping has it.
    Unknown,
    /// Not code: what a window was split by.
    Root,
}

impl FrameKind {
    /// All kinds, with the words that files and JSON use.
    pub const WORDS: [(Self, &'static str); 5] = [
        (Self::Kernel, "kernel"),
        (Self::User, "user"),
        (Self::Jit, "jit"),
        (Self::Unknown, "unknown"),
        (Self::Root, "root"),
    ];

    /// The word for this kind.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, word)| word)
    }

    /// The kind that a word stands for.
    pub fn of_word(word: &str) -> Self {
        Self::WORDS.iter().find(|(_, known)| *known == word).map_or(Self::Unknown, |(kind, _)| *kind)
    }
}

/// A function, or what stands in for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function; empty where it has no name.
    pub name: String,
    /// The file it is in, `[kernel]`, `[module]` of the kernel; empty where unknown.
    pub module: String,
    /// The offset in the file, for a frame without a name; 0 otherwise.
    pub offset: u64,
    /// What kind of code it is.
    pub kind: FrameKind,
}

impl Frame {
    /// What a flame graph shows: the function, else module and offset, else `[unknown]`.
    pub fn label(&self) -> String {
        self.as_ref().label()
    }

    /// The same without its texts.
    pub(crate) fn as_ref(&self) -> FrameRef<'_> {
        FrameRef { name: &self.name, module: &self.module, offset: self.offset, kind: self.kind }
    }
}

/// A frame whose names are elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameRef<'a> {
    /// As in `Frame`.
    pub name: &'a str,
    /// As in `Frame`.
    pub module: &'a str,
    /// As in `Frame`.
    pub offset: u64,
    /// As in `Frame`.
    pub kind: FrameKind,
}

impl FrameRef<'_> {
    /// What a flame graph shows: the function, else module and offset, else `[unknown]`.
    pub fn label(&self) -> String {
        let module = self.module.rsplit('/').next().unwrap_or_default();
        match (self.name, module) {
            ("", "") => "[unknown]".to_string(),
            ("", module) if self.offset == 0 => format!("[{}]", module.trim_matches(['[', ']'])),
            ("", module) => format!("[{}+{:#x}]", module.trim_matches(['[', ']']), self.offset),
            (name, _) => name.to_string(),
        }
    }

    fn to_frame(self) -> Frame {
        let Self { name, module, offset, kind } = self;
        Frame { name: name.to_string(), module: module.to_string(), offset, kind }
    }
}

/// A thread under one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Task {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// The name of the process: that of its main thread.
    pub process: String,
}

/// Samples in columns, in the order of time.
#[derive(Debug, Default, Clone)]
pub struct Samples {
    /// Nanoseconds on the capture's clock.
    pub time: Vec<i64>,
    /// Core; -1 where unknown.
    pub cpu: Vec<i32>,
    /// Row in the tasks.
    pub task: Vec<i32>,
    /// Row in the events.
    pub event: Vec<i32>,
    /// Row in the stacks.
    pub stack: Vec<i32>,
}

/// How one core was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreSamples {
    /// The core; -1 where unknown.
    pub cpu: i32,
    /// How many samples it has.
    pub samples: u64,
    /// The time of its first.
    pub first: i64,
    /// The time of its last.
    pub last: i64,
    /// The longest time between two that follow each other; 0 where there is only one.
    pub largest_gap: i64,
}

impl Samples {
    /// How every core was sampled by the first event, in the order of cores. A core that this event never
    /// sampled is not among them.
    pub fn per_core(&self) -> Vec<CoreSamples> {
        let mut cores: BTreeMap<i32, CoreSamples> = BTreeMap::new();
        let rows = self.time.iter().zip(&self.cpu).zip(&self.event);
        for ((&time, &cpu), _) in rows.filter(|&(_, &event)| event == 0) {
            let new = CoreSamples { cpu, samples: 0, first: time, last: time, largest_gap: 0 };
            let core = cores.entry(cpu).or_insert(new);
            core.samples += 1;
            core.largest_gap = core.largest_gap.max(time.saturating_sub(core.last));
            core.last = time;
        }
        cores.into_values().collect()
    }
}

/// Samples and their tables.
#[derive(Debug, Default)]
pub struct Profile {
    /// The samples.
    pub samples: Samples,
    /// Names of events.
    pub events: Vec<String>,
    /// Threads.
    pub tasks: Vec<Task>,
    /// Functions.
    pub frames: Vec<Frame>,
    /// Stacks of frames.
    pub stacks: StackTable,
}

/// Different stacks of frames, each once, outermost frame first.
#[derive(Debug, Default)]
pub struct StackTable {
    rows: Vec<Box<[u32]>>,
    numbers: Numbers,
}

impl StackTable {
    /// The number of a stack; new ones are kept.
    pub fn intern(&mut self, frames: &[u32]) -> u32 {
        let number = self.numbers.of(hash_of(frames), |number| *self.rows[number as usize] == *frames);
        if number as usize == self.rows.len() {
            self.rows.push(frames.into());
        }
        number
    }

    /// The numbers of many stacks, which lie one after the other: `ends` says where each ends.
    pub(crate) fn intern_all(&mut self, frames: &[u32], ends: &[usize]) -> Vec<u32> {
        let starts = std::iter::once(&0).chain(ends);
        let stacks: Vec<&[u32]> = starts.zip(ends).map(|(&start, &end)| &frames[start..end]).collect();
        let hashes: Vec<u64> = stacks.iter().map(|stack| hash_of(stack)).collect();
        let likely = self.numbers.likely(&hashes);
        let is_it = |number: u32, stack: &[u32]| *self.rows[number as usize] == *stack;
        let known: Vec<bool> =
            likely.iter().zip(&stacks).map(|(n, stack)| n.is_some_and(|n| is_it(n, stack))).collect();
        let rows = likely.into_iter().zip(known).zip(stacks);
        rows.map(|((number, known), stack)| number.filter(|_| known).unwrap_or_else(|| self.intern(stack)))
            .collect()
    }

    /// All stacks, by number.
    pub fn rows(&self) -> &[Box<[u32]>] {
        &self.rows
    }
}

/// Frames, each once.
#[derive(Debug, Default)]
pub struct FrameTable {
    /// The frames, by number.
    pub rows: Vec<Frame>,
    numbers: Numbers,
    hashing: RandomState, // names are strangers' input
}

impl FrameTable {
    /// The number of a frame; new ones are kept.
    pub fn intern(&mut self, frame: &Frame) -> u32 {
        self.intern_ref(frame.as_ref())
    }

    /// The numbers of many frames. Step by step for all of them: the tables are larger than a core's caches,
    /// and so it waits for many places in them at once.
    pub(crate) fn intern_all<'a>(&mut self, frames: impl Iterator<Item = FrameRef<'a>>) -> Vec<u32> {
        let frames: Vec<FrameRef<'a>> = frames.collect();
        let hashes: Vec<u64> = frames.iter().map(|frame| self.hashing.hash_one(frame)).collect();
        let likely = self.numbers.likely(&hashes);
        let is_it = |number: u32, frame: &FrameRef<'a>| self.rows[number as usize].as_ref() == *frame;
        let known: Vec<bool> =
            likely.iter().zip(&frames).map(|(n, frame)| n.is_some_and(|n| is_it(n, frame))).collect();
        let rows = likely.into_iter().zip(known).zip(frames);
        rows.map(|((number, known), frame)| {
            number.filter(|_| known).unwrap_or_else(|| self.intern_ref(frame))
        })
        .collect()
    }

    /// The same for one whose names are elsewhere; they are copied only if it is new.
    pub fn intern_ref(&mut self, frame: FrameRef<'_>) -> u32 {
        let hash = self.hashing.hash_one(frame);
        let number = self.numbers.of(hash, |number| self.rows[number as usize].as_ref() == frame);
        if number as usize == self.rows.len() {
            self.rows.push(frame.to_frame());
        }
        number
    }
}

/// Numbers of things by their hashes. The things themselves are kept once, by who has them.
#[derive(Debug, Default)]
struct Numbers {
    /// By hash, the thing that came last.
    last: FastMap<u64, u32>,
    /// By number, the one of the same hash that came before; itself where there is none.
    before: Vec<u32>,
}

impl Numbers {
    /// By hash, the thing that came last, which most likely is the one.
    fn likely(&self, hashes: &[u64]) -> Vec<Option<u32>> {
        hashes.iter().map(|hash| self.last.get(hash).copied()).collect()
    }

    /// The number of a thing; the next one where it is new.
    fn of(&mut self, hash: u64, is_it: impl Fn(u32) -> bool) -> u32 {
        let next = self.before.len() as u32;
        let last = self.last.entry(hash).or_insert(next);
        let mut number = *last;
        while number != next {
            if is_it(number) {
                return number;
            }
            let before = self.before[number as usize];
            number = if before == number { next } else { before };
        }
        self.before.push(*last); // the first of its hash is its own
        *last = next;
        next
    }
}

fn hash_of(frames: &[u32]) -> u64 {
    let mut hasher = FastHasher::default();
    frames.hash(&mut hasher);
    hasher.finish()
}

/// Which kernel functions mean that a core has nothing to do, and which that it was interrupted.
#[derive(Debug, Clone, Default)]
pub struct IdleRule {
    /// Functions in which a core waits for work.
    pub idle: Vec<String>,
    /// Functions, or beginnings of their names ending in `*`, that an interrupt or softirq runs.
    pub interrupt: Vec<String>,
}

impl Profile {
    /// Of every stack, whether its core had nothing to do: in an idle function, and nothing of an
    /// interrupt or softirq on top of it.
    pub fn idle(&self, rule: &IdleRule) -> Vec<bool> {
        let kernel = |frame: &Frame| frame.kind == FrameKind::Kernel;
        let named = |frame: &Frame, names: &[String]| {
            kernel(frame) && names.iter().any(|name| matches(name, &frame.name))
        };
        let idle: Vec<bool> = self.frames.iter().map(|frame| named(frame, &rule.idle)).collect();
        let interrupt: Vec<bool> = self.frames.iter().map(|frame| named(frame, &rule.interrupt)).collect();
        let is_idle = |stack: &[u32]| {
            let waiting = stack.iter().rposition(|&frame| idle[frame as usize]);
            waiting.is_some_and(|place| !stack[place..].iter().any(|&frame| interrupt[frame as usize]))
        };
        self.stacks.rows().iter().map(|stack| is_idle(stack)).collect()
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_of_one_hash_are_told_apart() {
        let things = ["a", "b", "c", "b", "a", "d", "c", "a"];
        let (mut numbers, mut kept): (Numbers, Vec<&str>) = (Numbers::default(), Vec::new());
        let mut number = |hash, thing| {
            let number = numbers.of(hash, |number| kept[number as usize] == thing);
            if number as usize == kept.len() {
                kept.push(thing);
            }
            number
        };
        assert_eq!(things.map(|thing| number(7, thing)), [0, 1, 2, 1, 0, 3, 2, 0]);
        assert_eq!(number(8, "e"), 4);
        assert_eq!(number(7, "d"), 3);
    }

    #[test]
    fn cores_are_told_by_the_first_event() {
        assert_eq!(Samples::default().per_core(), []);
        let samples = Samples {
            time: vec![10, 11, 20, 25, 60, 70],
            cpu: vec![3, -1, 0, 3, 3, 3],
            event: vec![0, 0, 0, 1, 0, 0],
            ..Samples::default()
        };
        let one = |cpu, time| CoreSamples { cpu, samples: 1, first: time, last: time, largest_gap: 0 };
        let third = CoreSamples { cpu: 3, samples: 3, first: 10, last: 70, largest_gap: 50 };
        assert_eq!(samples.per_core(), [one(-1, 11), one(0, 20), third]);
    }
}
