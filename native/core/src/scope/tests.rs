use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::profile::{Frame, FrameKind, Profile, Task};
use crate::seal::seal;
use crate::search::Search;
use crate::window::{Split, Window};

const S: i64 = SECOND as i64;

/// A folder that goes away.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Core 0: dd in `walk`, and once in a function without a name; core 1: idle, then kubelet in `main`.
fn sealed(name: &str) -> (Folder, Sealed) {
    let frame =
        |name: &str, offset| Frame { name: name.into(), module: "m".into(), offset, kind: FrameKind::Kernel };
    let task =
        |pid, comm: &str, process: &str| Task { pid, tid: pid, comm: comm.into(), process: process.into() };
    let mut profile = Profile {
        tasks: vec![task(0, "swapper", ""), task(7, "worker", "dd"), task(9, "kubelet", "kubelet")],
        events: vec!["cycles".into()],
        frames: vec![frame("idle", 0), frame("walk", 0), frame("", 9), frame("main", 0)],
        ..Profile::default()
    };
    for stack in [&[0][..], &[1], &[1, 2], &[3]] {
        profile.stacks.intern(stack);
    }
    profile.samples = Samples {
        time: vec![S, S + S / 2, S + S / 2 + 1, 2 * S, 3 * S - 1],
        cpu: vec![0, 0, 1, 1, 0],
        task: vec![1, 1, 0, 2, 1],
        event: vec![0; 5],
        stack: vec![1, 2, 0, 3, 1],
    };
    let folder = std::env::temp_dir().join(format!("necroscope-scope-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    seal(&profile, &[true, false, false, false], &folder).unwrap();
    let sealed = Sealed::open(&folder).unwrap();
    (Folder(folder), sealed)
}

fn filter() -> Filter {
    Filter { begin: 0, end: 4 * S, ..Filter::default() }
}

fn searching(text: &str, only_matching: bool) -> Filter {
    let search = Some(Arc::new(Search::new(text, false).unwrap()));
    Filter { search, only_matching, ..filter() }
}

fn scope(name: &str, filter: &Filter) -> Scope {
    let (_folder, sealed) = sealed(name);
    let mut scope = Scope::new(4, 2);
    scope.add(&sealed, filter, 0).unwrap();
    scope
}

fn names(counts: &HashMap<String, u64>) -> Vec<(&str, u64)> {
    let mut rows: Vec<_> = counts.iter().map(|(name, &count)| (name.as_str(), count)).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn samples_are_in_their_second_and_fraction() {
    let all = scope("all", &filter());
    assert_eq!(all.counts, [0, 0, 1, 1, 1, 1, 0, 0]);
    assert!(all.matched.is_empty());
    assert_eq!((all.samples, all.idle, all.unknown), (4, 1, 1));
    assert_eq!((all.cpus[&0], all.cpus[&1]), (3, 1));
    assert_eq!(names(&all.processes), [("dd", 3), ("kubelet", 1)]);
    assert_eq!(names(&all.threads), [("kubelet", 1), ("worker", 3)]);
}

#[test]
fn idle_cores_are_counted_when_asked_for() {
    let all = scope("idle", &Filter { idle: true, ..filter() });
    assert_eq!(all.counts, [0, 0, 1, 2, 1, 1, 0, 0]);
    assert_eq!(names(&all.processes), [("dd", 3), ("kubelet", 1), ("swapper", 1)]);
}

#[test]
fn functions_processes_and_threads_match() {
    assert_eq!(scope("function", &searching("WALK", false)).matched, [0, 0, 1, 1, 0, 1, 0, 0]);
    assert_eq!(scope("process", &searching("dd", false)).matched, [0, 0, 1, 1, 0, 1, 0, 0]);
    assert_eq!(scope("thread", &searching("work", false)).matched, [0, 0, 1, 1, 0, 1, 0, 0]);
    assert_eq!(scope("nothing", &searching("nothing", false)).matched, [0; 8]);
    let main = scope("main", &searching("main", false));
    assert_eq!((main.samples, main.matched), (4, vec![0, 0, 0, 0, 1, 0, 0, 0]));
}

#[test]
fn only_what_matches_is_kept_by_every_question() {
    let filter = searching("walk", true);
    let found = scope("only", &filter);
    assert_eq!(found.counts, found.matched);
    assert_eq!((found.samples, names(&found.processes)), (3, vec![("dd", 3)]));
    let (_folder, sealed) = sealed("window");
    let mut window = Window::default();
    window.add(&sealed, &filter, Split::Whole).unwrap();
    assert_eq!(window.samples, 3);
    let map = crate::heatmap::subsecond(&sealed, &filter, 2).unwrap();
    assert_eq!(map.cells, found.counts);
    let mut tally = crate::tally::Tally::new(vec![0, S, 2 * S], S).unwrap();
    tally.add(&sealed, &filter).unwrap();
    assert_eq!((tally.here, tally.everywhere), (vec![0, 2, 1], vec![0, 3, 2]));
}

#[test]
fn what_could_be_chosen_is_told_beside_what_is() {
    let one = scope("choice", &Filter { cpus: vec![1], processes: vec!["kubelet".into()], ..filter() });
    assert_eq!((one.samples, one.idle), (1, 0));
    assert_eq!(one.cpus.into_iter().collect::<Vec<_>>(), [(1, 1)], "kubelet ran there alone");
    assert_eq!(names(&one.processes), [("kubelet", 1)], "nothing else ran on core 1");
    let other = scope("other", &Filter { processes: vec!["dd".into()], ..filter() });
    assert_eq!(names(&other.processes), [("dd", 3), ("kubelet", 1)]);
    assert_eq!(names(&other.threads), [("worker", 3)]);
}

#[test]
fn profiles_add_up_and_what_lies_outside_is_left_out() {
    let (_folder, sealed) = sealed("several");
    let mut sum = Scope::new(3, 1);
    sum.add(&sealed, &filter(), 0).unwrap();
    sum.add(&sealed, &filter(), S).unwrap();
    let late = Filter { begin: 2 * S, ..filter() };
    sum.add(&sealed, &late, 2 * S).unwrap();
    assert_eq!(sum.counts, [2 + 2, 2 + 2, 2]);
    sum.add(&sealed, &Filter { begin: i64::MIN, end: i64::MIN, ..filter() }, i64::MIN).unwrap();
    sum.add(&sealed, &Filter { begin: i64::MAX, end: i64::MAX, ..filter() }, i64::MAX).unwrap();
    assert_eq!(sum.counts.iter().sum::<u32>(), 10);
}
