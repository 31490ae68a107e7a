//! How full every core was in every second, in percent: what a page draws a heatmap of.
//!
//! The counters of a segment become `Seconds`, which can be kept; a `Heat` folds them into columns of any
//! number of seconds, each as full as its fullest second.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

use crate::core_times::{CoreTimes, Interval, Ticks};
use crate::table::TableError;

/// What is shown of a core. System time has that of interrupts in it, but not that of softirqs.
pub const QUANTITIES: [&str; 5] = ["user", "system", "softirq", "steal", "wait"];

/// In place of a percentage, where nothing is known.
pub const UNKNOWN: u8 = 255;

const SECOND: i64 = 1_000_000_000;
/// An interval longer than this lies over a hole, and says nothing of any one second in it.
const LONGEST: i64 = 2_500_000_000;
/// An hour of 4,660 cores; the times of a damaged file may lie years apart.
const MOST_CELLS: usize = 1 << 24;
/// The machine has other work than this.
const THREADS: usize = 2;

/// Percentages by quantity, each one higher than it is: 0 is unknown, so that the larger one always wins.
type Cells = [Vec<u8>; QUANTITIES.len()];

/// Every second of a segment.
#[derive(Debug)]
pub struct Seconds {
    /// UTC.
    first: i64,
    count: usize,
    cores: Vec<i64>,
    /// Core by core.
    cells: Cells,
}

/// Seconds since 1970, what of them.
type Second = (i64, [u8; QUANTITIES.len()]);

impl Seconds {
    /// Of counters whose times are `offset` behind UTC. Err: the times lie too far apart.
    pub fn of(times: &mut CoreTimes, offset: i64) -> Result<Self, TableError> {
        let mut by_core: BTreeMap<i64, Vec<Second>> = BTreeMap::new();
        times.intervals(offset, |interval| {
            add_seconds(interval, by_core.entry(interval.core).or_default());
        });
        Self::dense(&by_core)
    }

    /// Of the counters of a sealed segment, read into room that is used again.
    fn read(times: &mut CoreTimes, path: &Path, offset: i64) -> Result<Self, TableError> {
        times.read(path)?;
        Self::of(times, offset)
    }

    /// How much memory it takes.
    pub fn bytes(&self) -> usize {
        self.cores.len() * (self.count * QUANTITIES.len() + size_of::<i64>()) + size_of::<Self>()
    }

    fn dense(by_core: &BTreeMap<i64, Vec<Second>>) -> Result<Self, TableError> {
        let all = || by_core.values().flatten().map(|(second, _)| *second);
        let first = all().min().unwrap_or(0);
        let count = all().max().map_or(0, |last| (last - first) as usize + 1);
        if count.saturating_mul(by_core.len()) > MOST_CELLS {
            return Err(TableError::Format("its times lie too far apart".into()));
        }
        let mut cells: Cells = std::array::from_fn(|_| vec![0; count * by_core.len()]);
        for (row, seconds) in by_core.values().enumerate() {
            for (second, percents) in seconds {
                let place = row * count + (second - first) as usize;
                for (cells, percent) in cells.iter_mut().zip(percents) {
                    cells[place] = cells[place].max(percent + 1);
                }
            }
        }
        Ok(Self { first, count, cores: by_core.keys().copied().collect(), cells })
    }
}

/// The seconds whose middle lies in an interval; of a short one, the second that its own middle lies in.
///
/// So readings that come a little early or late leave no second out, and none is told twice.
fn add_seconds(interval: &Interval, seconds: &mut Vec<Second>) {
    let (length, total) = (interval.length(), interval.total());
    if total == 0 || length > LONGEST {
        return;
    }
    let percents = percents(&interval.used, total);
    let from_middle = |time: i64| time.saturating_add(SECOND / 2).div_euclid(SECOND);
    let (begin, end) =
        (from_middle(interval.begin.saturating_sub(1)), from_middle(interval.end.saturating_sub(1)));
    if begin == end {
        let middle = interval.begin + length / 2;
        seconds.push((middle.div_euclid(SECOND), percents));
    }
    seconds.extend((begin..end).map(|second| (second, percents)));
}

fn percents(used: &Ticks, total: i64) -> [u8; QUANTITIES.len()] {
    let [user, nice, system, _, iowait, irq, softirq, steal] = used.map(|ticks| ticks as f64);
    let percent = |ticks: f64| (ticks * 100.0 / total as f64).round().min(100.0) as u8;
    [user + nice, system + irq, softirq, steal, iowait].map(percent)
}

/// Read many files, on a few threads; what came of each, in their order.
pub fn read_all(files: &[(PathBuf, i64)]) -> Vec<Result<Seconds, TableError>> {
    let read = |part: &[(PathBuf, i64)]| -> Vec<Result<Seconds, TableError>> {
        let mut times = CoreTimes::default();
        part.iter().map(|(path, offset)| Seconds::read(&mut times, path, *offset)).collect()
    };
    let share = files.len().div_ceil(THREADS).max(1);
    thread::scope(|scope| {
        let parts: Vec<_> =
            files.chunks(share).map(|part| (part.len(), scope.spawn(move || read(part)))).collect();
        let lost = |count| (0..count).map(|_| Err(TableError::Format("it cannot be read".into()))).collect();
        parts.into_iter().flat_map(|(count, part)| part.join().unwrap_or_else(|_| lost(count))).collect()
    })
}

/// Columns of whole seconds by cores.
#[derive(Debug)]
pub struct Heat {
    begin: i64,
    step: i64,
    columns: usize,
    rows: BTreeMap<i64, Cells>,
}

impl Heat {
    /// An empty one. None: `begin` (UTC) or `step` is not a whole number of seconds.
    pub fn new(begin: i64, end: i64, step: i64) -> Option<Self> {
        let is_whole = begin % SECOND == 0 && step > 0 && step % SECOND == 0;
        let length = u64::try_from(end.saturating_sub(begin)).unwrap_or(0);
        let columns = usize::try_from(length.div_ceil(step.max(1) as u64)).ok()?;
        is_whole.then(|| Self { begin: begin / SECOND, step: step / SECOND, columns, rows: BTreeMap::new() })
    }

    /// Add the seconds of a segment; those outside are left out.
    pub fn add(&mut self, seconds: &Seconds) {
        let end = self.begin.saturating_add(self.step.saturating_mul(self.columns as i64));
        let from = (self.begin - seconds.first).clamp(0, seconds.count as i64) as usize;
        let until = (end - seconds.first).clamp(from as i64, seconds.count as i64) as usize;
        if from == until {
            return;
        }
        for (number, &core) in seconds.cores.iter().enumerate() {
            let empty = || std::array::from_fn(|_| vec![0; self.columns]);
            let row = self.rows.entry(core).or_insert_with(empty);
            let part = number * seconds.count + from..number * seconds.count + until;
            let behind = (seconds.first + from as i64 - self.begin) as usize;
            for (row, cells) in row.iter_mut().zip(&seconds.cells) {
                fold(row, &cells[part.clone()], behind, self.step as usize);
            }
        }
    }

    /// The cores that anything is known of.
    pub fn cores(&self) -> Vec<i64> {
        self.rows.keys().copied().collect()
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The percentages of a quantity, core by core. None: there is no such quantity.
    pub fn percents(&self, quantity: &str) -> Option<Vec<u8>> {
        let number = QUANTITIES.iter().position(|name| *name == quantity)?;
        let cells = self.rows.values().flat_map(|row| &row[number]);
        Some(cells.map(|cell| cell.wrapping_sub(1)).collect())
    }
}

/// The largest of every `step` seconds; the first of them is `behind` seconds after the first column's.
fn fold(row: &mut [u8], mut seconds: &[u8], behind: usize, step: usize) {
    let mut column = behind / step;
    let mut left = step - behind % step;
    while !seconds.is_empty() {
        let (part, rest) = seconds.split_at(left.min(seconds.len()));
        row[column] = part.iter().copied().fold(row[column], u8::max);
        (seconds, left, column) = (rest, step, column + 1);
    }
}

#[cfg(test)]
mod tests;
