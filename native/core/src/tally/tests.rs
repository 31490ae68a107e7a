use std::fs;
use std::path::PathBuf;

use super::*;
use crate::profile::{Frame, Profile, Samples};
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
    let task =
        |pid, comm: &str, process: &str| Task { pid, tid: pid, comm: comm.into(), process: process.into() };
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
    let row = rows.iter().find(|row| row.process == process && row.function == function && row.way == way);
    row.map_or(Vec::new(), |row| row.counts.clone())
}

#[test]
fn processes_functions_and_pairs_are_counted_by_bin() {
    let all = tally("all", Vec::new());
    assert_eq!(all.here, [2, 2, 2]);
    assert_eq!(all.everywhere, [2, 2, 2]);
    assert_eq!(counts(&all, "dd", "", Way::Whole), [1, 1, 1], "what lies between bins is left out");
    assert_eq!(counts(&all, "dd", "", Way::Kernel), [1, 1, 1]);
    assert_eq!(counts(&all, "sh", "", Way::Whole), [0, 1, 0], "by its thread where the process has no name");
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
fn of_two_profiles_the_lines_are_the_same() {
    let (folder, sealed) = sealed("two");
    let mut both = Tally::new(vec![0, SECOND, 3 * SECOND], SECOND).unwrap();
    both.add(&sealed, &Filter::default()).unwrap();
    let once = both.rows(0);
    both.add(&sealed, &Filter::default()).unwrap();
    fs::remove_dir_all(folder).unwrap();
    let doubled = |row: Row| Row {
        counts: row.counts.iter().map(|count| 2 * count).collect(),
        depth: 2 * row.depth,
        ..row
    };
    assert_eq!(both.rows(0), once.into_iter().map(doubled).collect::<Vec<_>>());
    assert_eq!(both.here, [4, 4, 4]);
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
