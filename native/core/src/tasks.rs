//! Which threads used a core since the last look, and on which core they ran.
//!
//! `/proc/PID/stat` tells the CPU time of a whole process; the threads of a process are read only
//! when that time has moved, so an idle process costs one read whatever its number of threads.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// CPU time that one thread used between two scans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// The thread's own name, at most 15 bytes (64 for kernel workers).
    pub comm: String,
    /// The core it last ran on.
    pub core: u32,
    /// Clock ticks in user space.
    pub user_ticks: u64,
    /// Clock ticks in the kernel.
    pub system_ticks: u64,
}

/// CPU time of children that a process has waited for between two scans: work that came and went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Children {
    /// The parent's process id.
    pub pid: u32,
    /// The parent's name.
    pub comm: String,
    /// Clock ticks of the children that ended, and of theirs.
    pub ticks: u64,
}

/// What one scan saw.
#[derive(Debug, Default)]
pub struct Scan {
    /// Threads that used CPU time since the scan before, the busiest first.
    pub tasks: Vec<Task>,
    /// Parents whose ended children used CPU time, the most first.
    pub children: Vec<Children>,
    /// Processes visible to us.
    pub processes: usize,
}

impl Scan {
    /// Keep the `most` busiest threads of every core, and as many parents.
    pub fn keep_busiest(&mut self, most: usize) {
        let mut kept: HashMap<u32, usize> = HashMap::new();
        self.tasks.retain(|task| {
            let count = kept.entry(task.core).or_insert(0);
            *count += 1;
            *count <= most
        });
        self.children.truncate(most);
    }
}

/// Remembers every thread's CPU time, so that the next scan can tell what it used since.
///
/// A thread that ends between two scans takes its last fraction of a second with it; of a process, the
/// parent that waits for it gets the time, which is reported as its children's.
pub struct Scanner {
    proc: PathBuf,
    known: HashMap<u32, Process>,
    scans: u64,
    buffer: Vec<u8>,
}

struct Process {
    start: u64,
    ticks: Option<u64>,
    children_ticks: u64,
    /// Whether it ever had more than one thread. From then on its own numbers include threads that
    /// are gone, and only those of its threads can be compared.
    many_threads: bool,
    threads: HashMap<u32, (u64, u64)>,
    seen: u64,
}

impl Scanner {
    /// A scanner of the proc file system mounted at `proc`. The first scan only sets the baseline.
    pub fn new(proc: &Path) -> Self {
        Self { proc: proc.to_path_buf(), known: HashMap::new(), scans: 0, buffer: Vec::with_capacity(1024) }
    }

    /// Read all processes once. The first scan returns no tasks.
    pub fn scan(&mut self) -> io::Result<Scan> {
        self.scans += 1;
        let mut scan = Scan::default();
        for pid in numeric_entries(&self.proc)? {
            let directory = self.proc.join(pid.to_string());
            // A process may end between the listing and the read.
            let Some(stat) = self.read_stat(&directory.join("stat")) else { continue };
            scan.processes += 1;
            self.scan_process(pid, &directory, &stat, &mut scan);
        }
        let current = self.scans;
        self.known.retain(|_, process| process.seen == current);
        scan.tasks.sort_by_key(|task| std::cmp::Reverse(task.user_ticks + task.system_ticks));
        scan.children.sort_by_key(|children| std::cmp::Reverse(children.ticks));
        Ok(scan)
    }

    fn scan_process(&mut self, pid: u32, directory: &Path, stat: &Stat, scan: &mut Scan) {
        let is_first_scan = self.scans == 1;
        let mut process = match self.known.remove(&pid) {
            Some(process) if process.start == stat.start => process,
            _ => Process::new(stat, is_first_scan),
        };
        process.seen = self.scans;
        process.many_threads |= stat.threads > 1;
        if stat.children_ticks > process.children_ticks {
            let ticks = stat.children_ticks - process.children_ticks;
            scan.children.push(Children { pid, comm: stat.comm.clone(), ticks });
            process.children_ticks = stat.children_ticks;
        }
        if process.ticks != Some(stat.ticks()) {
            process.ticks = Some(stat.ticks());
            let threads = self.read_threads(pid, directory, stat, process.many_threads);
            // The threads of a process are read whenever its time moves, so a thread not known
            // yet has used all of its time since the last scan, except in the very first scan.
            if !is_first_scan {
                scan.tasks
                    .extend(threads.iter().filter_map(|thread| used_since(thread, &process.threads, pid)));
            }
            process.threads =
                threads.into_iter().map(|(tid, s)| (tid, (s.user_ticks, s.system_ticks))).collect();
        }
        self.known.insert(pid, process);
    }

    fn read_threads(&mut self, pid: u32, directory: &Path, stat: &Stat, many: bool) -> Vec<(u32, Stat)> {
        if !many {
            return vec![(pid, stat.clone())];
        }
        let folder = directory.join("task");
        let Ok(tids) = numeric_entries(&folder) else { return Vec::new() };
        tids.filter_map(|tid| Some((tid, self.read_stat(&folder.join(tid.to_string()).join("stat"))?)))
            .collect()
    }

    fn read_stat(&mut self, path: &Path) -> Option<Stat> {
        self.buffer.clear();
        File::open(path).ok()?.read_to_end(&mut self.buffer).ok()?;
        Stat::parse(&self.buffer)
    }
}

impl Process {
    fn new(stat: &Stat, is_first_scan: bool) -> Self {
        Self {
            start: stat.start,
            ticks: None,
            // What it had before we first looked is not of this interval.
            children_ticks: if is_first_scan { stat.children_ticks } else { 0 },
            many_threads: false,
            threads: HashMap::new(),
            seen: 0,
        }
    }
}

fn used_since((tid, stat): &(u32, Stat), before: &HashMap<u32, (u64, u64)>, pid: u32) -> Option<Task> {
    let (user, system) = before.get(tid).copied().unwrap_or((0, 0));
    let task = Task {
        pid,
        tid: *tid,
        comm: stat.comm.clone(),
        core: stat.core,
        user_ticks: stat.user_ticks.saturating_sub(user),
        system_ticks: stat.system_ticks.saturating_sub(system),
    };
    (task.user_ticks + task.system_ticks > 0).then_some(task)
}

fn numeric_entries(folder: &Path) -> io::Result<impl Iterator<Item = u32> + use<>> {
    let entries = fs::read_dir(folder)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// The fields of one `/proc/PID/stat` that matter here; proc(5) numbers them from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stat {
    comm: String,
    user_ticks: u64,
    system_ticks: u64,
    children_ticks: u64,
    threads: u64,
    start: u64,
    core: u32,
}

impl Stat {
    fn ticks(&self) -> u64 {
        self.user_ticks + self.system_ticks
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // The name may hold spaces and parentheses: it ends at the last closing one.
        let open = text.iter().position(|&byte| byte == b'(')?;
        let close = text.iter().rposition(|&byte| byte == b')')?;
        let comm = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            comm,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            children_ticks: number(16)? + number(17)?,
            threads: number(20)?,
            start: number(22)?,
            core: u32::try_from(number(39)?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!((parsed.comm.as_str(), parsed.ticks(), parsed.core), ("a) R (b", 7, 5));
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
        assert_eq!(used, [(11, "housekeeping", 3, 80), (12, "new", 1, 10)]);

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
            core,
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
}
