//! The samples of a window, filtered and counted by stack.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

use crate::counted::{Counts, Roots, Row};
use crate::hash::FastMap;
use crate::names::Names;
use crate::profile::{Frame, FrameTable, Samples, StackTable, Task};
use crate::sealed::{Columns, Error, Sealed};
use crate::search::{Matches, Search};

/// Which samples are wanted. An empty list means all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// First time, nanoseconds on the capture's clock.
    pub begin: i64,
    /// First time that is too late.
    pub end: i64,
    /// Cores.
    pub cpus: Vec<i32>,
    /// Processes, by name or number.
    pub processes: Vec<String>,
    /// Threads, by name or number.
    pub threads: Vec<String>,
    /// Events, by name.
    pub events: Vec<String>,
    /// Whether samples of idle cores are counted as well.
    pub idle: bool,
    /// What is looked for.
    pub search: Option<Arc<Search>>,
    /// Whether only samples that the search matches are wanted.
    pub only_matching: bool,
}

/// What stands at the root of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Split {
    /// Nothing: all samples together.
    #[default]
    Whole,
    /// The name of the thread, as perf's folded stacks have it.
    Comm,
    /// The process: name and number.
    Process,
    /// The thread: name and number.
    Thread,
    /// The core.
    Core,
}

/// Stacks and how often each was seen.
#[derive(Debug, Default)]
pub struct Window {
    /// Functions, and the roots that the split adds.
    pub frames: FrameTable,
    /// Stacks of frames, outermost first.
    pub stacks: StackTable,
    /// How often each stack was seen.
    pub counts: Vec<u64>,
    /// Samples counted.
    pub samples: u64,
    /// Samples of idle cores in the window that passed the other filters, counted or not.
    pub idle: u64,
    /// Counted samples whose innermost frame has no name.
    pub unknown: u64,
    /// Stacks without what stands at the root.
    bare: StackTable,
    /// By the frame at the root and the bare stack: the row.
    rows: FastMap<(Option<u32>, u32), u32>,
}

impl Window {
    /// Add the samples of one profile; windows may span several.
    pub fn add(&mut self, sealed: &Sealed, filter: &Filter, split: Split) -> Result<(), Error> {
        self.add_with(thread::available_parallelism().map_or(1, usize::from), sealed, filter, split)
    }

    /// The same where other threads add other profiles.
    pub fn add_in_one_thread(&mut self, sealed: &Sealed, filter: &Filter, split: Split) -> Result<(), Error> {
        self.add_with(1, sealed, filter, split)
    }

    fn add_with(
        &mut self,
        threads: usize,
        sealed: &Sealed,
        filter: &Filter,
        split: Split,
    ) -> Result<(), Error> {
        let roots = Roots::of(sealed, split);
        let mut columns = Columns { untimed: true, ..filter.columns() };
        columns.cpu |= roots.by_core();
        columns.task |= roots.by_task();
        let keeps = filter.keeps(sealed)?;
        let takes_all = keeps.takes_all();
        let new = || Counts::new(&roots, sealed.idle.len());
        let span = (filter.begin, filter.end);
        let parts = sealed.fold_with(threads, span, columns, new, |counts, samples| {
            for (index, &stack) in samples.stack.iter().enumerate() {
                if !takes_all && !keeps.passes(samples, index) {
                    continue;
                }
                let is_idle = sealed.idle[stack as usize];
                counts.idle += u64::from(is_idle);
                if filter.idle || !is_idle {
                    counts.add(roots.root(samples, index), stack as u32);
                }
            }
        })?;
        let names = sealed.names()?; // before anything is added: damage leaves the window as it was
        self.idle += parts.iter().map(|part| part.idle).sum::<u64>();
        self.merge(names, &roots, &Counts::rows(parts));
        Ok(())
    }

    /// Count a stack of this window's frames so many times more.
    pub(crate) fn count(&mut self, stack: &[u32], count: u64) {
        let row = self.row(stack);
        self.counts[row as usize] += count;
    }

    /// The same for many stacks, which lie one after the other: `ends` says where each ends.
    pub(crate) fn count_all(&mut self, frames: &[u32], ends: &[usize], counts: &[u64]) {
        let rows = self.stacks.intern_all(frames, ends);
        self.counts.resize(self.stacks.rows().len(), 0);
        rows.iter().zip(counts).for_each(|(&row, count)| self.counts[row as usize] += count);
    }

    fn row(&mut self, stack: &[u32]) -> u32 {
        let row = self.stacks.intern(stack);
        if row as usize == self.counts.len() {
            self.counts.push(0);
        }
        row
    }

    /// Stacks as labels, outermost first, with their counts, in the order of the labels.
    pub fn folded(&self) -> Vec<(Vec<String>, u64)> {
        let labels: Vec<String> = self.frames.rows.iter().map(Frame::label).collect();
        let name = |stack: &[u32]| stack.iter().map(|&frame| labels[frame as usize].clone()).collect();
        let mut rows: Vec<(Vec<String>, u64)> =
            self.stacks.rows().iter().zip(&self.counts).map(|(stack, &count)| (name(stack), count)).collect();
        rows.sort_unstable();
        // Frames of different modules may have the same label.
        rows.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        rows
    }

    /// Add what was counted of a profile.
    fn merge(&mut self, names: &Names, roots: &Roots<'_>, rows: &[Row]) {
        let bare = self.bare_numbers(names, rows);
        let (mut root_number, mut root_frame) = (None, None);
        let mut stack = Vec::new();
        for &((root, number), count) in rows {
            if root_number != Some(root) {
                root_number = Some(root);
                root_frame = roots.label(root).map(|label| self.frames.intern(&label));
            }
            let bare = bare[number as usize];
            let row = match self.rows.get(&(root_frame, bare)) {
                Some(&row) => row,
                None => {
                    stack.clear();
                    stack.extend(root_frame);
                    stack.extend(&self.bare.rows()[bare as usize]);
                    let row = self.row(&stack);
                    self.rows.insert((root_frame, bare), row);
                    row
                }
            };
            self.counts[row as usize] += count;
            self.samples += count;
            let leaf = names.stacks.get(number).last();
            if leaf.is_none_or(|&leaf| names.is_nameless(leaf)) {
                self.unknown += count;
            }
        }
    }

    /// By the number of a stack in a profile: that of the bare stack here. Those without a row mean nothing.
    fn bare_numbers(&mut self, names: &Names, rows: &[Row]) -> Vec<u32> {
        let mut seen = vec![false; names.stacks.len()];
        rows.iter().for_each(|((_, stack), _)| seen[*stack as usize] = true);
        let seen: Vec<u32> = (0..seen.len() as u32).filter(|&stack| seen[stack as usize]).collect();
        let mut used = vec![false; names.frames()];
        for &stack in &seen {
            names.stacks.get(stack).iter().for_each(|&frame| used[frame as usize] = true);
        }
        let used: Vec<u32> = (0..used.len() as u32).filter(|&frame| used[frame as usize]).collect();
        let mut frame_numbers = vec![0; names.frames()];
        let numbers = self.frames.intern_all(used.iter().map(|&frame| names.frame(frame)));
        used.iter().zip(numbers).for_each(|(&frame, number)| frame_numbers[frame as usize] = number);
        let (mut frames, mut ends) = (Vec::new(), Vec::with_capacity(seen.len()));
        for &stack in &seen {
            frames.extend(names.stacks.get(stack).iter().map(|&frame| frame_numbers[frame as usize]));
            ends.push(frames.len());
        }
        let mut bare = vec![0; names.stacks.len()];
        let numbers = self.bare.intern_all(&frames, &ends);
        seen.iter().zip(numbers).for_each(|(&stack, number)| bare[stack as usize] = number);
        bare
    }
}

/// A filter worked out for the tables of one profile.
pub struct Keeps {
    /// By task: whether the filter takes its process, and its thread.
    tasks: Option<Vec<[bool; 2]>>,
    events: Option<Vec<bool>>,
    cpus: HashSet<i32>,
    matching: Option<Matches>,
    idle: bool,
}

/// Which parts of a filter a sample passes.
pub(crate) struct Passed {
    pub cpu: bool,
    pub process: bool,
    pub thread: bool,
    /// Event and search.
    pub others: bool,
}

impl Keeps {
    /// Whether every sample passes, but for those of idle cores.
    fn takes_all(&self) -> bool {
        self.tasks.is_none() && self.events.is_none() && self.cpus.is_empty() && self.matching.is_none()
    }

    /// Whether a sample passes all filters but that of idle cores.
    pub fn passes(&self, samples: &Samples, index: usize) -> bool {
        let Passed { cpu, process, thread, others } = self.passed(samples, index);
        cpu && process && thread && others
    }

    /// The same, part by part. A column that no filter needs was not read.
    #[inline]
    pub(crate) fn passed(&self, samples: &Samples, index: usize) -> Passed {
        let task = |tasks: &Vec<[bool; 2]>| tasks[samples.task[index] as usize];
        let [process, thread] = self.tasks.as_ref().map_or([true; 2], task);
        let matches = |matching: &Matches| matching.sample(samples.task[index], samples.stack[index]);
        Passed {
            cpu: self.cpus.is_empty() || self.cpus.contains(&samples.cpu[index]),
            process,
            thread,
            others: self.events.as_ref().is_none_or(|events| events[samples.event[index] as usize])
                && self.matching.as_ref().is_none_or(matches),
        }
    }

    /// Whether a sample passes all filters.
    pub fn sample(&self, sealed: &Sealed, samples: &Samples, index: usize) -> bool {
        self.passes(samples, index) && (self.idle || !sealed.idle[samples.stack[index] as usize])
    }
}

impl Filter {
    /// The columns that the filter must see.
    pub fn columns(&self) -> Columns {
        Columns {
            untimed: false,
            cpu: !self.cpus.is_empty(),
            task: self.has_tasks() || (self.only_matching && self.search.is_some()),
            event: !self.events.is_empty(),
        }
    }

    /// Work the filter out for a profile.
    pub fn keeps(&self, sealed: &Sealed) -> Result<Keeps, Error> {
        let taken = |task: &Task| [self.takes_process(task), self.takes_thread(task)];
        let search = self.search.as_ref().filter(|_| self.only_matching);
        Ok(Keeps {
            tasks: self.has_tasks().then(|| sealed.tasks.iter().map(taken).collect()),
            events: (!self.events.is_empty())
                .then(|| sealed.events.iter().map(|name| self.takes_event(name)).collect()),
            cpus: self.cpus.iter().copied().collect(),
            matching: search.map(|search| Matches::of(search, sealed)).transpose()?,
            idle: self.idle,
        })
    }

    fn has_tasks(&self) -> bool {
        !self.processes.is_empty() || !self.threads.is_empty()
    }

    fn takes_process(&self, task: &Task) -> bool {
        let is_it = |wanted: &String| is_named(wanted, &task.process, task.pid) || *wanted == task.comm;
        self.processes.is_empty() || self.processes.iter().any(is_it)
    }

    fn takes_thread(&self, task: &Task) -> bool {
        let is_it = |wanted: &String| is_named(wanted, &task.comm, task.tid);
        self.threads.is_empty() || self.threads.iter().any(is_it)
    }

    fn takes_event(&self, name: &str) -> bool {
        // perf adds modifiers: `cpu-clock:ppp` is asked for as cpu-clock.
        self.events.is_empty()
            || self.events.iter().any(|wanted| name == wanted || name.split(':').next() == Some(wanted))
    }
}

fn is_named(wanted: &str, name: &str, number: u32) -> bool {
    wanted == name || wanted == number.to_string()
}
