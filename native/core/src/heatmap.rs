//! Samples binned by time: the subsecond-offset heatmap, and cores over time.

use crate::profile::Samples;
use crate::sealed::{Columns, Error, Sealed};
use crate::window::Filter;

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
/// A day of columns of fifty rows; a larger map is cut off at its end.
const MOST_CELLS: usize = 86_400 * 50;

impl Heatmap {
    fn new(begin: i64, end: i64, step: i64, rows: usize) -> Self {
        let length = end.saturating_sub(begin).max(0);
        let most = (MOST_CELLS / rows.max(1)) as u64;
        let columns = (length as u64).div_ceil(step as u64).min(most) as usize;
        Self { columns, rows, cells: vec![0; columns * rows] }
    }

    fn add(&mut self, other: &Self) {
        for (cell, more) in self.cells.iter_mut().zip(&other.cells) {
            *cell += more;
        }
    }
}

/// One column a second from the filter's beginning, one row a fraction of it, the earliest first.
pub fn subsecond(sealed: &Sealed, filter: &Filter, rows: usize) -> Result<Heatmap, Error> {
    let row = |_: &Samples, _: usize, rest: i64| Some(rest as usize * rows / SECOND as usize);
    bin(sealed, filter, filter.columns(), SECOND, rows, row)
}

/// One column a step of time from the filter's beginning, one row a core.
pub fn cores(sealed: &Sealed, filter: &Filter, step: i64) -> Result<Heatmap, Error> {
    let columns = Columns { cpu: true, ..filter.columns() };
    let most = |most: &mut i32, samples: &Samples| *most = samples.cpu.iter().copied().fold(*most, i32::max);
    let highest = sealed.fold((filter.begin, filter.end), columns, || -1, most)?;
    let rows = highest.into_iter().max().map_or(0, |cpu| (cpu + 1) as usize);
    let row = |samples: &Samples, index: usize, _: i64| usize::try_from(samples.cpu[index]).ok();
    bin(sealed, filter, columns, step.max(1), rows, row)
}

fn bin(
    sealed: &Sealed,
    filter: &Filter,
    columns: Columns,
    step: i64,
    rows: usize,
    row: impl Fn(&Samples, usize, i64) -> Option<usize> + Sync,
) -> Result<Heatmap, Error> {
    let keeps = filter.keeps(sealed)?;
    let new = || Heatmap::new(filter.begin, filter.end, step, rows);
    let parts = sealed.fold((filter.begin, filter.end), columns, new, |map, samples| {
        for (index, &time) in samples.time.iter().enumerate() {
            let offset = time.saturating_sub(filter.begin);
            let column = (offset / step) as usize;
            if column < map.columns
                && keeps.sample(sealed, samples, index)
                && let Some(row) = row(samples, index, offset % step)
            {
                map.cells[column * rows + row] += 1;
            }
        }
    })?;
    let mut whole = new();
    parts.iter().for_each(|part| whole.add(part));
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_range_is_bounded() {
        assert_eq!(Heatmap::new(i64::MIN, i64::MAX, SECOND, 50).columns, 86_400);
        assert_eq!(Heatmap::new(5, 3, SECOND, 50).columns, 0);
    }
}
