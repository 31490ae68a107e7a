//! Who ran in which kernel function, second by second: the table that suspects are compared in.

use std::collections::HashMap;

use crate::hash::FastMap;
use crate::names::Names;
use crate::profile::{FrameKind, FrameRef, Task};
use crate::sealed::{Columns, Error, Sealed};
use crate::window::Filter;

/// What is counted of a process or a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// All samples of a process.
    Whole,
    /// The samples of a process whose innermost frame is the kernel's.
    Kernel,
    /// Samples whose innermost frame is the function.
    Own,
    /// Samples with the function anywhere in their stack.
    Inclusive,
}

impl Way {
    /// The word that Python knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Kernel => "kernel",
            Self::Own => "self",
            Self::Inclusive => "inclusive",
        }
    }
}

/// A process, a kernel function, or a process in a kernel function; None means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    process: Option<u32>,
    function: Option<u32>,
    way: Way,
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The process; empty for a function in any of them.
    pub process: String,
    /// The kernel function; empty for a process as a whole.
    pub function: String,
    /// What is counted.
    pub way: Way,
    /// Samples in each bin.
    pub counts: Vec<u32>,
    /// How deep in the stacks the function stood, summed over all samples; 0 is the outermost frame.
    pub depth: u64,
}

/// What is kept of one line.
#[derive(Debug)]
struct Cells {
    key: Key,
    counts: Vec<u32>,
    depth: u64,
}

/// The lines that a stack of a process counts in, each with the place of its function in the stack.
type Lines = Vec<(u32, u32)>;

/// What is looked up once for all samples of a profile.
#[derive(Default)]
struct Known {
    processes: Vec<u32>,
    functions: FastMap<u32, Option<u32>>,
    /// By process and stack.
    lines: FastMap<(u32, u32), Lines>,
}

/// Samples of processes and kernel functions in bins of time, all of one length.
#[derive(Debug, Default)]
pub struct Tally {
    starts: Vec<i64>,
    length: i64,
    /// Samples in each bin that pass the filter, those of idle cores too.
    pub here: Vec<u32>,
    /// Samples in each bin on any core: whether anything was captured then.
    pub everywhere: Vec<u32>,
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
    places: FastMap<Key, u32>,
    rows: Vec<Cells>,
}

/// What one thread counts: (bin, task, stack) and how often, and the samples of each bin on any core.
struct Count {
    stacks: FastMap<(u32, u32, u32), u32>,
    everywhere: Vec<u32>,
}

impl Tally {
    /// Bins that begin at these times, on the capture's clock. None if they are not in order or overlap.
    pub fn new(starts: Vec<i64>, length: i64) -> Option<Self> {
        let apart =
            starts.windows(2).all(|pair| pair[1].checked_sub(pair[0]).is_some_and(|gap| gap >= length));
        let bins = starts.len();
        let (here, everywhere) = (vec![0; bins], vec![0; bins]);
        (length > 0 && apart).then(|| Self { starts, length, here, everywhere, ..Self::default() })
    }

    /// Add the samples of one profile; bins may span several. The time and the idleness that the filter
    /// asks for do not matter: the bins say when, and idle cores count in `here` alone.
    pub fn add(&mut self, sealed: &Sealed, filter: &Filter) -> Result<(), Error> {
        let (Some(&begin), Some(&last)) = (self.starts.first(), self.starts.last()) else { return Ok(()) };
        let columns = Columns { task: true, ..filter.columns() };
        let anywhere = Filter { cpus: Vec::new(), only_matching: false, ..filter.clone() }.keeps(sealed)?;
        let keeps = filter.keeps(sealed)?;
        let new = || Count { stacks: FastMap::default(), everywhere: vec![0; self.starts.len()] };
        let range = (begin, last.saturating_add(self.length));
        let parts = sealed.fold(range, columns, new, |count, samples| {
            for (index, &time) in samples.time.iter().enumerate() {
                let Some(bin) = self.bin(time).filter(|_| anywhere.passes(samples, index)) else { continue };
                count.everywhere[bin] += 1;
                if keeps.passes(samples, index) {
                    let key = (bin as u32, samples.task[index] as u32, samples.stack[index] as u32);
                    *count.stacks.entry(key).or_insert(0) += 1;
                }
            }
        })?;
        let names = sealed.names()?;
        let mut known = Known { processes: self.processes(sealed), ..Known::default() };
        for part in parts {
            self.everywhere.iter_mut().zip(part.everywhere).for_each(|(all, more)| *all += more);
            self.merge(sealed, names, &mut known, &part.stacks);
        }
        Ok(())
    }

    /// The lines of the table with at least so many samples in all bins together, in a stable order.
    pub fn rows(&self, least: u64) -> Vec<Row> {
        let text = |number: Option<u32>| number.map_or(String::new(), |n| self.texts[n as usize].clone());
        let enough = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>() >= least;
        let rows = self.rows.iter().filter(|cells| enough(&cells.counts)).map(|cells| Row {
            process: text(cells.key.process),
            function: text(cells.key.function),
            way: cells.key.way,
            counts: cells.counts.clone(),
            depth: cells.depth,
        });
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_unstable();
        rows
    }

    fn bin(&self, time: i64) -> Option<usize> {
        let bin = self.starts.partition_point(|&start| start <= time).checked_sub(1)?;
        (time - self.starts[bin] < self.length).then_some(bin)
    }

    fn processes(&mut self, sealed: &Sealed) -> Vec<u32> {
        let name = |task: &Task| if task.process.is_empty() { &task.comm } else { &task.process }.clone();
        sealed.tasks.iter().map(|task| self.number(&name(task))).collect()
    }

    fn merge(
        &mut self,
        sealed: &Sealed,
        names: &Names,
        known: &mut Known,
        stacks: &FastMap<(u32, u32, u32), u32>,
    ) {
        for (&(bin, task, stack), &count) in stacks {
            self.here[bin as usize] += count;
            if sealed.idle[stack as usize] {
                continue;
            }
            let process = known.processes[task as usize];
            let Known { functions, lines, .. } = known;
            let lines =
                lines.entry((process, stack)).or_insert_with(|| self.lines(process, stack, names, functions));
            for &(line, place) in &*lines {
                let cells = &mut self.rows[line as usize];
                cells.counts[bin as usize] += count;
                cells.depth += u64::from(place) * u64::from(count);
            }
        }
    }

    /// Where a stack counts: worked out once, since it is seen in many bins.
    fn lines(
        &mut self,
        process: u32,
        stack: u32,
        names: &Names,
        functions: &mut FastMap<u32, Option<u32>>,
    ) -> Lines {
        let process = Some(process);
        let mut lines = vec![(self.line(process, None, Way::Whole), 0)];
        let frames = names.stacks.get(stack);
        let mut seen: Vec<u32> = Vec::with_capacity(frames.len());
        for (place, &frame) in frames.iter().enumerate() {
            let named = || kernel_function(names.frame(frame)).map(|name| self.number(&name));
            let Some(function) = *functions.entry(frame).or_insert_with(named) else { continue };
            let mut both = |way| {
                lines.extend([process, None].map(|who| (self.line(who, Some(function), way), place as u32)));
            };
            if place + 1 == frames.len() {
                both(Way::Own);
            }
            if !seen.contains(&function) {
                seen.push(function); // one that calls itself counts once
                both(Way::Inclusive);
            }
            if place + 1 == frames.len() {
                lines.push((self.line(process, None, Way::Kernel), 0));
            }
        }
        lines
    }

    /// The number of a line, which is new where nothing was counted in it yet.
    fn line(&mut self, process: Option<u32>, function: Option<u32>, way: Way) -> u32 {
        let key = Key { process, function, way };
        let next = self.rows.len() as u32;
        let line = *self.places.entry(key).or_insert(next);
        if line == next {
            self.rows.push(Cells { key, counts: vec![0; self.starts.len()], depth: 0 });
        }
        line
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_string());
        self.numbers.insert(text.to_string(), number);
        number
    }
}

/// The name of a kernel function; of one without a name, its module: every address would be another.
fn kernel_function(frame: FrameRef<'_>) -> Option<String> {
    (frame.kind == FrameKind::Kernel).then(|| FrameRef { offset: 0, ..frame }.label())
}

#[cfg(test)]
mod tests;
