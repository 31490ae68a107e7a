//! How often each stack was seen below each root, as one thread counts it.

use crate::hash::FastMap;
use crate::profile::{Frame, FrameKind, Samples};
use crate::sealed::Sealed;
use crate::window::Split;

/// Up to so many cells there is one for each root and stack; more are kept in a map, which takes longer.
const MOST_CELLS: usize = 1 << 20;

/// What stands at the root of the stacks of one profile.
pub(crate) struct Roots<'a> {
    sealed: &'a Sealed,
    split: Split,
    /// By task: the first task with the same label.
    of_task: Vec<u32>,
}

impl<'a> Roots<'a> {
    pub(crate) fn of(sealed: &'a Sealed, split: Split) -> Self {
        let tasks = sealed.tasks.iter().enumerate();
        let of_task = match split {
            Split::Whole | Split::Core => Vec::new(),
            Split::Process | Split::Thread => tasks.map(|(number, _)| number as u32).collect(),
            Split::Comm => {
                let mut first: FastMap<&str, u32> = FastMap::default();
                tasks.map(|(number, task)| *first.entry(&task.comm).or_insert(number as u32)).collect()
            }
        };
        Self { sealed, split, of_task }
    }

    pub(crate) fn by_task(&self) -> bool {
        !matches!(self.split, Split::Whole | Split::Core)
    }

    pub(crate) fn by_core(&self) -> bool {
        self.split == Split::Core
    }

    /// The root of a sample; its column was read.
    #[inline]
    pub(crate) fn root(&self, samples: &Samples, index: usize) -> u32 {
        match self.split {
            Split::Whole => 0,
            Split::Core => samples.cpu[index] as u32,
            Split::Comm | Split::Process | Split::Thread => self.of_task[samples.task[index] as usize],
        }
    }

    /// What is written on a root; None where there is none.
    pub(crate) fn label(&self, root: u32) -> Option<Frame> {
        let task = || &self.sealed.tasks[root as usize];
        let name = match self.split {
            Split::Whole => return None,
            Split::Core => format!("core {root}"),
            Split::Comm => task().comm.clone(),
            Split::Process => format!("{} ({})", task().process, task().pid),
            Split::Thread => format!("{} ({})", task().comm, task().tid),
        };
        Some(Frame { name, module: String::new(), offset: 0, kind: FrameKind::Root })
    }

    /// One more than the largest root; None where it is not known before samples are read.
    fn bound(&self) -> Option<usize> {
        match self.split {
            Split::Whole => Some(1),
            Split::Core => None,
            Split::Comm | Split::Process | Split::Thread => Some(self.of_task.len()),
        }
    }
}

/// A root, a stack, and how often they were seen.
pub(crate) type Row = ((u32, u32), u64);

pub(crate) struct Counts {
    stacks: usize,
    /// By root and stack; empty where there would be too many.
    cells: Vec<u64>,
    map: FastMap<(u32, u32), u64>,
    /// Samples of idle cores.
    pub(crate) idle: u64,
}

impl Counts {
    pub(crate) fn new(roots: &Roots<'_>, stacks: usize) -> Self {
        let size = roots.bound().and_then(|bound| bound.checked_mul(stacks));
        let cells = size.filter(|&size| size <= MOST_CELLS).unwrap_or_default();
        Self { stacks, cells: vec![0; cells], map: FastMap::default(), idle: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, root: u32, stack: u32) {
        if self.cells.is_empty() {
            *self.map.entry((root, stack)).or_insert(0) += 1;
        } else {
            self.cells[root as usize * self.stacks + stack as usize] += 1;
        }
    }

    /// What several threads have counted of one profile, in the order of roots and stacks.
    pub(crate) fn rows(parts: Vec<Self>) -> Vec<Row> {
        let mut parts = parts.into_iter();
        let Some(mut sum) = parts.next() else { return Vec::new() };
        for part in parts {
            sum.cells.iter_mut().zip(part.cells).for_each(|(cell, more)| *cell += more);
            part.map.into_iter().for_each(|(key, count)| *sum.map.entry(key).or_insert(0) += count);
        }
        let stacks = sum.stacks.max(1);
        let seen = sum.cells.iter().enumerate().filter(|&(_, &count)| count > 0);
        let mut rows: Vec<Row> =
            seen.map(|(cell, &count)| (((cell / stacks) as u32, (cell % stacks) as u32), count)).collect();
        rows.extend(sum.map);
        rows.sort_unstable(); // the same input gives the same numbers
        rows
    }
}
