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
/// A day of columns of fifty rows; a larger map is cut off at its end.
const MOST_CELLS: usize = 86_400 * 50;

/// One column a second from `begin`, one row a fraction of it, the earliest first.
pub fn subsecond(
    samples: &Samples,
    keep: &dyn Fn(usize) -> bool,
    begin: i64,
    end: i64,
    rows: usize,
) -> Heatmap {
    let row = |_: usize, rest: i64| Some(rest as usize * rows / SECOND as usize);
    bin(samples, keep, (begin, end, SECOND), rows, &row)
}

/// One column a step of time from `begin`, one row a core.
pub fn cores(samples: &Samples, keep: &dyn Fn(usize) -> bool, begin: i64, end: i64, step: i64) -> Heatmap {
    let rows = samples.cpu.iter().copied().max().map_or(0, |cpu| cpu.max(-1) as usize + 1);
    let row = |index: usize, _: i64| usize::try_from(samples.cpu[index]).ok();
    bin(samples, keep, (begin, end, step.max(1)), rows, &row)
}

fn bin(
    samples: &Samples,
    keep: &dyn Fn(usize) -> bool,
    (begin, end, step): (i64, i64, i64),
    rows: usize,
    row: &dyn Fn(usize, i64) -> Option<usize>,
) -> Heatmap {
    let length = end.saturating_sub(begin).max(0);
    let columns = (length as u64).div_ceil(step as u64).min((MOST_CELLS / rows.max(1)) as u64) as usize;
    let mut map = Heatmap { columns, rows, cells: vec![0; columns * rows] };
    for (index, &time) in samples.time.iter().enumerate() {
        let offset = time.saturating_sub(begin);
        let column = (offset / step) as usize;
        if offset >= 0
            && column < columns
            && keep(index)
            && let Some(row) = row(index, offset % step)
        {
            map.cells[column * rows + row] += 1;
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let time = vec![0, 10_000_000, 999_999_999, 1_000_000_000, 2_500_000_000];
        Samples { cpu: vec![0, 1, 1, -1, 1], task: vec![0; 5], event: vec![0; 5], stack: vec![0; 5], time }
    }

    #[test]
    fn a_column_is_a_second_and_a_row_a_fraction() {
        let map = subsecond(&samples(), &|_| true, 0, 3_000_000_000, 2);
        assert_eq!((map.columns, map.rows, map.cells), (3, 2, vec![2, 1, 1, 0, 0, 1]));
    }

    #[test]
    fn cores_over_time_leave_out_the_unknown_core() {
        let map = cores(&samples(), &|index| index != 4, 0, 3_000_000_000, 1_000_000_000);
        assert_eq!((map.columns, map.rows, map.cells), (3, 2, vec![1, 2, 0, 0, 0, 0]));
    }

    #[test]
    fn an_impossible_range_is_bounded() {
        let map = subsecond(&samples(), &|_| true, i64::MIN, i64::MAX, 50);
        assert_eq!(map.columns, 86_400);
    }
}
