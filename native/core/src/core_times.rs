//! The CPU time of cores as it was recorded, and what each core did between two readings.

use std::collections::HashMap;
use std::path::Path;

use crate::hash::FastMap;
use crate::integers::{Integers, MISSING};
use crate::table::TableError;

/// The columns of a reading: when, of which core, and the counters in the order in which `Ticks` has them.
const COLUMNS: [&str; 10] =
    ["time", "core", "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// The CPU time of a core by mode.
pub(crate) type Ticks = [i64; COLUMNS.len() - 2];

/// The counters of the cores of a segment. Another segment's can be read into the same room.
#[derive(Debug, Default)]
pub struct CoreTimes {
    columns: Integers,
    by_core: FastMap<i64, Vec<(i64, Ticks)>>,
}

/// What a core did between two readings that follow each other.
pub(crate) struct Interval {
    pub core: i64,
    /// Nanoseconds, UTC.
    pub begin: i64,
    pub end: i64,
    pub used: Ticks,
}

impl Interval {
    /// How long it is.
    pub fn length(&self) -> i64 {
        self.end.saturating_sub(self.begin)
    }

    /// All ticks of it.
    pub fn total(&self) -> i64 {
        self.used.iter().fold(0, |sum, &ticks| sum.saturating_add(ticks))
    }
}

impl CoreTimes {
    /// Read those of a sealed segment, in place of what was there.
    pub fn read(&mut self, path: &Path) -> Result<(), TableError> {
        self.columns.read(path, &COLUMNS)
    }

    /// Take columns by name. None: one is missing, or shorter than another.
    pub fn of(mut columns: HashMap<String, Vec<i64>>) -> Option<Self> {
        let taken = COLUMNS.iter().map(|name| columns.remove(*name)).collect::<Option<Vec<_>>>()?;
        Some(Self { columns: Integers::of(taken)?, by_core: FastMap::default() })
    }

    /// What every core did, core by core; the recorded times are `offset` behind UTC.
    pub(crate) fn intervals(&mut self, offset: i64, mut each: impl FnMut(&Interval)) {
        self.group();
        for (&core, readings) in &self.by_core {
            for pair in readings.windows(2) {
                let ((begin, before), (end, after)) = (pair[0], pair[1]);
                // The kernel lets idle and iowait step back by a tick now and then.
                let used = std::array::from_fn(|mode| after[mode].saturating_sub(before[mode]).max(0));
                let (begin, end) = (begin.saturating_add(offset), end.saturating_add(offset));
                each(&Interval { core, begin, end, used });
            }
        }
    }

    /// The readings of every core, in the order of time.
    fn group(&mut self) {
        self.by_core.values_mut().for_each(Vec::clear);
        let [times, cores, modes @ ..] = self.columns.values() else { return };
        for (row, (&time, &core)) in times.iter().zip(cores).enumerate() {
            if time != MISSING && core != MISSING {
                let ticks =
                    std::array::from_fn(|mode| modes[mode].get(row).map_or(0, |ticks| *ticks.max(&0)));
                self.by_core.entry(core).or_default().push((time, ticks));
            }
        }
        self.by_core.retain(|_, readings| !readings.is_empty());
        self.by_core.values_mut().for_each(|readings| readings.sort_unstable());
    }
}
