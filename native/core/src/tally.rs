//! Who ran in which kernel function, second by second: the table that suspects are compared in.

use std::collections::HashMap;

use crate::hash::FastMap;
use crate::profile::{Frame, FrameKind};
use crate::sealed::{Columns, Error, Names, Sealed};
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
#[derive(Debug, Default)]
struct Cells {
    counts: Vec<u32>,
    depth: u64,
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
    rows: HashMap<Key, Cells>,
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
        let mut stacks: FastMap<(u32, u32, u32), u32> = FastMap::default();
        for part in parts {
            self.everywhere.iter_mut().zip(part.everywhere).for_each(|(all, more)| *all += more);
            for (key, count) in part.stacks {
                *stacks.entry(key).or_insert(0) += count;
            }
        }
        self.merge(sealed, names, &stacks);
        Ok(())
    }

    /// The lines of the table with at least so many samples in all bins together, in a stable order.
    pub fn rows(&self, least: u64) -> Vec<Row> {
        let text = |number: Option<u32>| number.map_or(String::new(), |n| self.texts[n as usize].clone());
        let enough = |counts: &[u32]| counts.iter().map(|&count| u64::from(count)).sum::<u64>() >= least;
        let rows = self.rows.iter().filter(|(_, cells)| enough(&cells.counts)).map(|(key, cells)| Row {
            process: text(key.process),
            function: text(key.function),
            way: key.way,
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

    fn merge(&mut self, sealed: &Sealed, names: &Names, stacks: &FastMap<(u32, u32, u32), u32>) {
        let processes: Vec<u32> = sealed
            .tasks
            .iter()
            .map(|task| self.number(if task.process.is_empty() { &task.comm } else { &task.process }))
            .collect();
        let mut functions: FastMap<u32, Option<u32>> = FastMap::default();
        for (&(bin, task, stack), &count) in stacks {
            self.here[bin as usize] += count;
            if sealed.idle[stack as usize] {
                continue;
            }
            let process = Some(processes[task as usize]);
            self.count(Key { process, function: None, way: Way::Whole }, (bin, 0), count);
            let frames = &names.stacks[stack as usize];
            let mut seen: Vec<u32> = Vec::with_capacity(frames.len());
            for (place, &frame) in frames.iter().enumerate() {
                let known = functions.entry(frame);
                let named = || kernel_function(&names.frames[frame as usize]).map(|name| self.number(&name));
                let Some(function) = *known.or_insert_with(named) else { continue };
                if place + 1 == frames.len() {
                    self.count(Key { process, function: None, way: Way::Kernel }, (bin, 0), count);
                    self.count_both(process, function, Way::Own, (bin, place), count);
                }
                if !seen.contains(&function) {
                    seen.push(function); // one that calls itself counts once
                    self.count_both(process, function, Way::Inclusive, (bin, place), count);
                }
            }
        }
    }

    fn count_both(&mut self, process: Option<u32>, function: u32, way: Way, at: (u32, usize), count: u32) {
        self.count(Key { process, function: Some(function), way }, at, count);
        self.count(Key { process: None, function: Some(function), way }, at, count);
    }

    fn count(&mut self, key: Key, (bin, place): (u32, usize), count: u32) {
        let new = || Cells { counts: vec![0; self.starts.len()], depth: 0 };
        let cells = self.rows.entry(key).or_insert_with(new);
        cells.counts[bin as usize] += count;
        cells.depth += place as u64 * u64::from(count);
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
fn kernel_function(frame: &Frame) -> Option<String> {
    (frame.kind == FrameKind::Kernel).then(|| Frame { offset: 0, ..frame.clone() }.label())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::profile::{Profile, Samples, Task};
    use crate::seal::seal;

    const SECOND: i64 = 1_000_000_000;

    /// Core 0: dd clears memory, calling `walk` twice over; core 1 is idle, or runs user code.
    fn sealed(name: &str) -> (PathBuf, Sealed) {
        let frame = |name: &str, kind| Frame { name: name.into(), module: "m".into(), offset: 0, kind };
        let frames = vec![
            frame("main", FrameKind::User),
            frame("sys_read", FrameKind::Kernel),
            frame("walk", FrameKind::Kernel),
            frame("clear", FrameKind::Kernel),
            frame("idle", FrameKind::Kernel),
        ];
        let task = |pid, comm: &str, process: &str| Task {
            pid,
            tid: pid,
            comm: comm.into(),
            process: process.into(),
        };
        let mut profile = Profile {
            tasks: vec![task(0, "swapper/1", "swapper/1"), task(7, "worker", "dd"), task(9, "sh", "")],
            events: vec!["cycles".into()],
            frames,
            ..Profile::default()
        };
        for stack in [&[4][..], &[0, 1, 2, 2, 3], &[0], &[0, 1]] {
            profile.stacks.intern(stack);
        }
        profile.samples = Samples {
            time: vec![0, 10, SECOND, SECOND + 1, 2 * SECOND, 3 * SECOND, 3 * SECOND + 1],
            cpu: vec![0, 1, 0, 1, 0, 0, 1],
            task: vec![1, 0, 1, 2, 1, 1, 0],
            event: vec![0; 7],
            stack: vec![1, 0, 1, 2, 1, 3, 0],
        };
        let folder = std::env::temp_dir().join(format!("necroscope-tally-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        seal(&profile, &[true, false, false, false], &folder).unwrap();
        let sealed = Sealed::open(&folder).unwrap();
        (folder, sealed)
    }

    fn tally(name: &str, cpus: Vec<i32>) -> Tally {
        let (folder, sealed) = sealed(name);
        let mut tally = Tally::new(vec![0, SECOND, 3 * SECOND], SECOND).unwrap();
        tally.add(&sealed, &Filter { cpus, ..Filter::default() }).unwrap();
        fs::remove_dir_all(folder).unwrap();
        tally
    }

    fn counts(tally: &Tally, process: &str, function: &str, way: Way) -> Vec<u32> {
        let rows = tally.rows(0);
        let row =
            rows.iter().find(|row| row.process == process && row.function == function && row.way == way);
        row.map_or(Vec::new(), |row| row.counts.clone())
    }

    #[test]
    fn processes_functions_and_pairs_are_counted_by_bin() {
        let all = tally("all", Vec::new());
        assert_eq!(all.here, [2, 2, 2]);
        assert_eq!(all.everywhere, [2, 2, 2]);
        assert_eq!(counts(&all, "dd", "", Way::Whole), [1, 1, 1], "what lies between bins is left out");
        assert_eq!(counts(&all, "dd", "", Way::Kernel), [1, 1, 1]);
        assert_eq!(
            counts(&all, "sh", "", Way::Whole),
            [0, 1, 0],
            "by its thread where the process has no name"
        );
        assert_eq!(counts(&all, "sh", "", Way::Kernel), [], "it ran user code");
        assert_eq!(counts(&all, "dd", "walk", Way::Inclusive), [1, 1, 0], "once a sample");
        assert_eq!(counts(&all, "dd", "walk", Way::Own), []);
        assert_eq!(counts(&all, "", "clear", Way::Own), [1, 1, 0]);
        assert_eq!(counts(&all, "", "sys_read", Way::Inclusive), [1, 1, 1]);
        assert_eq!(counts(&all, "dd", "sys_read", Way::Own), [0, 0, 1]);
        assert_eq!(counts(&all, "", "main", Way::Inclusive), [], "not the kernel's");
        assert_eq!(counts(&all, "swapper/1", "", Way::Whole), [], "an idle core counts in the totals only");
        let anywhere = |row: &&Row, function| row.function == function && row.way == Way::Inclusive;
        let depth = |function| all.rows(0).iter().find(|row| anywhere(row, function)).unwrap().depth;
        assert_eq!((depth("sys_read"), depth("walk"), depth("clear")), (3, 4, 8));
        assert!(all.rows(3).iter().all(|row| row.counts.iter().sum::<u32>() == 3));
    }

    #[test]
    fn of_some_cores_and_of_any() {
        let one = tally("one", vec![1]);
        assert_eq!(one.here, [1, 1, 1]);
        assert_eq!(one.everywhere, [2, 2, 2]);
        assert_eq!(one.rows(0).len(), 1, "sh alone");
    }

    #[test]
    fn bins_are_in_order_and_apart() {
        assert!(Tally::new(vec![0, 5], 10).is_none());
        assert!(Tally::new(vec![10, 0], 10).is_none());
        assert!(Tally::new(vec![i64::MIN, i64::MAX], 10).is_none());
        assert!(Tally::new(vec![0], 0).is_none());
        let empty = Tally::new(Vec::new(), 10).unwrap();
        assert!(empty.rows(0).is_empty());
    }
}
