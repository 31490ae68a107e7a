//! Samples binned by time: the subsecond-offset heatmap, and cores over time.

use crate::profile::Samples;

/// Counts in cells; `cells[column * rows + row]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heatmap {
    /// Columns: seconds, or steps of time.
    pub columns: usize,
    /// Rows: fractions of a second, or cores.
    pub rows: usize,
    /// The counts.
    pub cells: Vec<u32>,
}

const SECOND: i64 = 1_000_000_000;
/// A day of columns; a longer range is looked at in parts.
const MOST_COLUMNS: i64 = 86_400;

/// One column a second from `begin`, one row a fraction of it; the second row number is the later one.
pub fn subsecond(
    samples: &Samples,
    keep: &dyn Fn(usize) -> bool,
    begin: i64,
    end: i64,
    rows: usize,
) -> Heatmap {
    let columns = ((end - begin).max(0) as u64).div_ceil(SECOND as u64).min(MOST_COLUMNS as u64) as usize;
    let mut map = Heatmap { columns, rows, cells: vec![0; columns * rows] };
    for (index, &time) in samples.time.iter().enumerate() {
        let offset = time - begin;
        let column = offset.div_euclid(SECOND) as usize;
        if offset >= 0 && column < columns && keep(index) {
            let row = (offset.rem_euclid(SECOND) as usize * rows) / SECOND as usize;
            map.cells[column * rows + row] += 1;
        }
    }
    map
}

/// One column a step of time from `begin`, one row a core.
pub fn cores(samples: &Samples, keep: &dyn Fn(usize) -> bool, begin: i64, end: i64, step: i64) -> Heatmap {
    let columns =
        ((end - begin).max(0) as u64).div_ceil(step.max(1) as u64).min(MOST_COLUMNS as u64) as usize;
    let rows = samples.cpu.iter().copied().max().map_or(0, |cpu| cpu.max(-1) as usize + 1);
    let mut map = Heatmap { columns, rows, cells: vec![0; columns * rows] };
    for (index, &time) in samples.time.iter().enumerate() {
        let offset = time - begin;
        let column = offset.div_euclid(step.max(1)) as usize;
        let cpu = samples.cpu[index];
        if offset >= 0 && column < columns && cpu >= 0 && keep(index) {
            map.cells[column * rows + cpu as usize] += 1;
        }
    }
    map
}
