use std::collections::HashMap;

use super::*;
use crate::table::{self, Column, Values};

const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// One core: when it was read (seconds), and the ticks it spent since the reading before, by mode.
fn table(core: i64, readings: &[(f64, &[(&str, i64)])]) -> Vec<Column> {
    let ints = |values: Vec<i64>| Values::Int(values.into_iter().map(Some).collect());
    let times = readings.iter().map(|(time, _)| (time * SECOND as f64) as i64).collect();
    let mut columns =
        vec![("time".to_string(), ints(times)), ("core".to_string(), ints(vec![core; readings.len()]))];
    for mode in MODES {
        let mut sum = 0;
        let sums = readings.iter().map(|(_, spent)| {
            sum += spent.iter().filter(|(name, _)| *name == mode).map(|(_, ticks)| ticks).sum::<i64>();
            sum
        });
        columns.push((mode.to_string(), ints(sums.collect())));
    }
    columns
}

fn seconds(columns: &[Column], offset: i64) -> Result<Seconds, TableError> {
    let whole = |values: &Values| match values {
        Values::Int(values) => values.iter().map(|value| value.unwrap()).collect(),
        _ => Vec::new(),
    };
    let columns = columns.iter().map(|(name, values)| (name.clone(), whole(values))).collect();
    Seconds::of(&mut CoreTimes::of(columns).unwrap(), offset)
}

/// The percentages of a quantity of the only core, from second 0 on.
fn row(columns: &[Column], length: i64, step: i64, quantity: &str) -> Vec<u8> {
    let mut heat = Heat::new(0, length * SECOND, step * SECOND).unwrap();
    heat.add(&seconds(columns, 0).unwrap());
    heat.percents(quantity).unwrap()
}

#[test]
fn every_mode_is_in_its_quantity() {
    let spent = [
        ("user", 10),
        ("nice", 10),
        ("system", 5),
        ("irq", 6),
        ("softirq", 7),
        ("steal", 8),
        ("iowait", 9),
        ("idle", 45),
    ];
    let columns = table(3, &[(0.0, &[]), (1.0, &spent)]);
    let percents = QUANTITIES.map(|quantity| row(&columns, 1, 1, quantity)[0]);
    assert_eq!(percents, [20, 11, 7, 8, 9]);
}

#[test]
fn a_column_is_as_full_as_its_fullest_second() {
    let (idle, half, full) = ([("idle", 100)], [("system", 50), ("idle", 50)], [("system", 100)]);
    let columns = table(0, &[(0.0, &[]), (1.0, &idle), (2.0, &full), (3.0, &half), (4.0, &idle)]);
    assert_eq!(row(&columns, 6, 1, "system"), [0, 100, 50, 0, UNKNOWN, UNKNOWN]);
    assert_eq!(row(&columns, 6, 2, "system"), [100, 50, UNKNOWN]);
    assert_eq!(row(&columns, 6, 4, "system"), [100, UNKNOWN]);
    assert_eq!(row(&columns, 6, 60, "system"), [100]);
}

#[test]
fn readings_that_come_early_or_late_leave_no_second_out() {
    let busy: &[(&str, i64)] = &[("user", 100)];
    // By their middles, two of these intervals would lie in second 3, and none in second 2.
    let times = [0.4, 1.5, 2.6, 3.52, 4.48, 5.46, 6.46];
    let readings: Vec<_> = times.iter().map(|&time| (time, busy)).collect();
    assert_eq!(row(&table(0, &readings), 7, 1, "user"), [100, 100, 100, 100, 100, 100, UNKNOWN]);
}

#[test]
fn what_is_shorter_than_a_second_is_not_lost() {
    let (idle, full) = ([("idle", 10)], [("softirq", 10)]);
    let columns = table(0, &[(0.0, &[]), (0.6, &idle), (0.7, &full), (1.0, &idle)]);
    assert_eq!(row(&columns, 1, 1, "softirq"), [100]);
}

#[test]
fn an_interval_over_a_hole_says_nothing() {
    let full: &[(&str, i64)] = &[("user", 100)];
    let columns = table(0, &[(0.0, full), (1.0, full), (4.0, full), (5.0, full), (7.0, full)]);
    let unknown = [UNKNOWN; 3];
    assert_eq!(row(&columns, 7, 1, "user"), [&[100][..], &unknown, &[100, 100, 100]].concat());
}

#[test]
fn segments_lie_beside_each_other_at_their_own_times() {
    let mut heat = Heat::new(10 * SECOND, 16 * SECOND, 2 * SECOND).unwrap();
    let full: &[(&str, i64)] = &[("user", 100)];
    let two = [(0.0, full), (1.0, full), (2.0, full)];
    heat.add(&seconds(&table(0, &two), 9 * SECOND).unwrap());
    heat.add(&seconds(&table(1, &two), 15 * SECOND).unwrap());
    heat.add(&seconds(&table(2, &two), 30 * SECOND).unwrap());
    assert_eq!((heat.cores(), heat.columns()), (vec![0, 1], 3));
    assert_eq!(heat.percents("user").unwrap(), [100, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 100]);
    assert_eq!(heat.percents("busy"), None);
}

#[test]
fn only_whole_seconds_are_columns() {
    assert!(Heat::new(1, SECOND, SECOND).is_none());
    assert!(Heat::new(0, SECOND, SECOND / 2).is_none());
    assert!(Heat::new(0, SECOND, 0).is_none());
    assert_eq!(Heat::new(5 * SECOND, 0, SECOND).unwrap().columns(), 0);
}

#[test]
fn times_of_a_damaged_table_take_no_memory() {
    let at = |times: [i64; 4]| {
        let mut columns = table(0, &[(0.0, &[]), (0.0, &[("user", 1)]), (0.0, &[]), (0.0, &[("user", 1)])]);
        columns[0].1 = Values::Int(times.map(Some).to_vec());
        seconds(&columns, 0)
    };
    assert!(at([0, SECOND, i64::MAX - SECOND, i64::MAX]).is_err());
    assert_eq!(at([-i64::MAX, -i64::MAX, i64::MAX, i64::MAX]).map(|found| found.count).unwrap_or(1), 1);
    assert_eq!(CoreTimes::of(HashMap::from([("time".to_string(), vec![0])])).map(|_| ()), None);
}

#[test]
fn many_files_are_read_and_a_bad_one_is_told_in_its_place() {
    let folder = std::env::temp_dir().join(format!("necroscope-heat-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |number: i64| folder.join(format!("{number}.parquet"));
    for number in [0, 1, 3, 4] {
        table::write(&path(number), &table(number, &[(0.0, &[]), (1.0, &[("user", 100)])])).unwrap();
    }
    std::fs::write(path(4), "PAR1").unwrap();
    let files: Vec<_> = (0..5).map(|number| (path(number), number * SECOND)).collect();
    let read = read_all(&files);
    std::fs::remove_dir_all(&folder).unwrap();
    let firsts: Vec<_> =
        read.iter().map(|one| one.as_ref().ok().map(|one| (one.first, one.cores[0]))).collect();
    assert_eq!(firsts, [Some((0, 0)), Some((1, 1)), None, Some((3, 3)), None]);
    assert!(matches!(read[2], Err(TableError::Io(_))) && matches!(read[4], Err(TableError::Format(_))));
    assert!(read_all(&[]).is_empty());
}
