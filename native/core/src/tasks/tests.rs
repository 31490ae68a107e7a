use super::*;

fn stat(pid: u32, comm: &str, user: u64, system: u64, threads: u64, core: u32) -> String {
    with_children(pid, comm, user, system, 0, threads, core)
}

fn with_children(
    pid: u32,
    comm: &str,
    user: u64,
    system: u64,
    ended: u64,
    threads: u64,
    core: u32,
) -> String {
    format!(
        "{pid} ({comm}) S 1 1 1 0 -1 4194560 0 0 0 0 {user} {system} {ended} 0 20 0 {threads} 0 77 0 0 \
         0 0 0 0 0 0 0 0 0 0 0 0 0 17 {core} 0 0 0 0 0\n"
    )
}

fn write(path: PathBuf, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn empty_proc(name: &str) -> PathBuf {
    let proc = std::env::temp_dir().join(format!("necroscope-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&proc);
    proc
}

#[test]
fn names_may_hold_anything() {
    let parsed = Stat::parse(stat(7, "a) R (b", 3, 4, 1, 5).as_bytes()).unwrap();
    assert_eq!((parsed.comm.as_str(), parsed.ticks(), parsed.core), ("a) R (b", (3, 4), 5));
}

#[test]
fn cut_or_foreign_text_is_no_stat() {
    let whole = stat(7, "kubelet", 3, 4, 1, 5);
    for length in 0..whole.len() - 14 {
        assert_eq!(Stat::parse(&whole.as_bytes()[..length]), None, "{length}");
    }
    assert_eq!(Stat::parse(b"\xff\xfe)("), None);
}

#[test]
fn a_scan_tells_what_each_thread_used_since() {
    let proc = empty_proc("tasks");
    write(proc.join("10/stat"), &stat(10, "kubelet", 100, 900, 2, 0));
    write(proc.join("10/task/10/stat"), &stat(10, "kubelet", 100, 0, 2, 0));
    write(proc.join("10/task/11/stat"), &stat(11, "housekeeping", 0, 900, 2, 3));
    write(proc.join("20/stat"), &stat(20, "idle", 5, 5, 1, 1));
    let mut scanner = Scanner::new(&proc);
    let first = scanner.scan().unwrap();
    assert_eq!((first.processes, first.tasks.len()), (2, 0));

    write(proc.join("10/stat"), &stat(10, "kubelet", 100, 990, 3, 0));
    write(proc.join("10/task/11/stat"), &stat(11, "housekeeping", 0, 980, 2, 3));
    write(proc.join("10/task/12/stat"), &stat(12, "new", 0, 10, 2, 1));
    let second = scanner.scan().unwrap();
    let used: Vec<_> =
        second.tasks.iter().map(|t| (t.tid, t.comm.as_str(), t.core, t.system_ticks)).collect();
    assert_eq!(used, [(11, "housekeeping", Some(3), 80), (12, "new", Some(1), 10)]);

    fs::remove_dir_all(proc.join("10")).unwrap();
    assert_eq!(scanner.scan().unwrap().processes, 1);
    assert_eq!(scanner.known.len(), 1);
    fs::remove_dir_all(proc).unwrap();
}

#[test]
fn the_time_of_dead_threads_is_not_charged_to_the_last_one() {
    let proc = empty_proc("dead-threads");
    write(proc.join("10/stat"), &stat(10, "pool", 600, 0, 2, 0));
    write(proc.join("10/task/10/stat"), &stat(10, "pool", 0, 0, 2, 0));
    write(proc.join("10/task/11/stat"), &stat(11, "worker", 600, 0, 2, 1));
    let mut scanner = Scanner::new(&proc);
    scanner.scan().unwrap();
    fs::remove_dir_all(proc.join("10/task/11")).unwrap();
    write(proc.join("10/stat"), &stat(10, "pool", 601, 0, 1, 0));
    write(proc.join("10/task/10/stat"), &stat(10, "pool", 1, 0, 1, 0));
    let used: Vec<_> = scanner.scan().unwrap().tasks.iter().map(|t| (t.tid, t.user_ticks)).collect();
    assert_eq!(used, [(10, 1)]);
    fs::remove_dir_all(proc).unwrap();
}

#[test]
fn a_process_with_too_many_threads_is_accounted_as_a_whole() {
    let proc = empty_proc("many-threads");
    let threads = |count, own: u64, other: u64| {
        write(proc.join("10/stat"), &stat(10, "many", own + other, 3, count, 0));
        write(proc.join("10/task/10/stat"), &stat(10, "many", own, 3, count, 0));
        write(proc.join("10/task/11/stat"), &stat(11, "other", other, 0, count, 1));
    };
    let mut scanner = Scanner::new(&proc);
    let mut used = || -> Vec<_> {
        scanner.scan().unwrap().tasks.iter().map(|t| (t.tid, t.core, t.user_ticks)).collect()
    };
    threads(2, 100, 100);
    assert_eq!(used(), []);
    threads(MAX_THREADS_OF_PROCESS + 1, 100, 109);
    assert_eq!(used(), [(10, None, 9)]);
    threads(2, 101, 111);
    assert_eq!(used(), [(10, None, 3)], "what its threads had used before is not known");
    threads(2, 101, 115);
    assert_eq!(used(), [(11, Some(1), 4)]);
    fs::remove_dir_all(proc).unwrap();
}

#[test]
fn processes_with_few_threads_are_read_first() {
    let proc = empty_proc("few-threads");
    let write_all = |ticks| {
        for pid in 10..16 {
            let count = if pid == 15 { 2 } else { MAX_THREADS_OF_PROCESS };
            write(proc.join(format!("{pid}/stat")), &stat(pid, "pool", ticks, 0, count, 0));
            write(proc.join(format!("{pid}/task/{pid}/stat")), &stat(pid, "pool", ticks, 0, count, 0));
        }
    };
    let mut scanner = Scanner::new(&proc);
    for ticks in 1..4 {
        write_all(ticks);
        let scan = scanner.scan().unwrap();
        let whole: Vec<_> = scan.tasks.iter().filter(|t| t.core.is_none()).map(|t| t.pid).collect();
        assert!(!whole.contains(&15), "{whole:?}");
        assert_eq!(whole.len(), if ticks == 1 { 0 } else { 2 });
    }
    fs::remove_dir_all(proc).unwrap();
}

#[test]
fn work_that_came_and_went_is_its_parents_children() {
    let proc = empty_proc("children");
    write(proc.join("10/stat"), &with_children(10, "bash", 1, 1, 500, 1, 0));
    let mut scanner = Scanner::new(&proc);
    assert_eq!(scanner.scan().unwrap().children, []);
    write(proc.join("10/stat"), &with_children(10, "bash", 1, 1, 590, 1, 0));
    assert_eq!(scanner.scan().unwrap().children, [Children { pid: 10, comm: "bash".into(), ticks: 90 }]);
    fs::remove_dir_all(proc).unwrap();
}

#[test]
fn the_busiest_of_every_core_are_kept() {
    let task = |tid, core, ticks| Task {
        pid: 1,
        tid,
        comm: String::new(),
        core: Some(core),
        user_ticks: ticks,
        system_ticks: 0,
    };
    let mut scan = Scan {
        tasks: vec![task(1, 0, 100), task(2, 0, 99), task(3, 0, 98), task(4, 37, 9)],
        ..Scan::default()
    };
    scan.keep_busiest(2);
    assert_eq!(scan.tasks.iter().map(|t| t.tid).collect::<Vec<_>>(), [1, 2, 4]);
}
