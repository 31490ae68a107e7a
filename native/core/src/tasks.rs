//! Which threads used a core since the last look, and on which core they ran.
//!
//! `/proc/PID/stat` tells the CPU time of a whole process; the threads of a process are read only
//! when that time has moved, so an idle process costs one read whatever its number of threads. A process with
//! too many threads to read them one by one is accounted as a whole.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Threads that are read in one scan, at 20 us each: those of processes with few threads first, so that nobody's
/// threads keep us from looking at others.
const MAX_THREADS: u64 = 16_384;
/// Threads of a process that are read one by one; a JVM on 96 cores has some hundreds.
const MAX_THREADS_OF_PROCESS: u64 = 4096;

/// CPU time that one thread used between two scans, or a process with too many threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// The thread's own name, at most 15 bytes (64 for kernel workers).
    pub comm: String,
    /// The core it last ran on; none for a process that is accounted as a whole.
    pub core: Option<u32>,
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
        let mut kept: HashMap<Option<u32>, usize> = HashMap::new();
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
    /// In user space and in the kernel.
    ticks: Option<(u64, u64)>,
    children_ticks: u64,
    /// Whether it ever had more than one thread. From then on its own numbers include threads that
    /// are gone, and only those of its threads can be compared.
    many_threads: bool,
    /// None if it was accounted as a whole.
    threads: Option<HashMap<u32, (u64, u64)>>,
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
        let mut moved = Vec::new();
        for pid in numeric_entries(&self.proc)? {
            // A process may end between the listing and the read.
            let Some(stat) = self.read_stat(&self.proc.join(pid.to_string()).join("stat")) else { continue };
            scan.processes += 1;
            if self.has_moved(pid, &stat, &mut scan) {
                moved.push((pid, stat));
            }
        }
        moved.sort_by_key(|(_, stat)| stat.threads);
        let mut left = MAX_THREADS;
        for (pid, stat) in moved {
            self.scan_process(pid, &stat, &mut left, &mut scan);
        }
        let current = self.scans;
        self.known.retain(|_, process| process.seen == current);
        scan.tasks.sort_by_key(|task| std::cmp::Reverse(task.user_ticks + task.system_ticks));
        scan.children.sort_by_key(|children| std::cmp::Reverse(children.ticks));
        Ok(scan)
    }

    /// Remember a process; whether it used CPU time since the last scan.
    fn has_moved(&mut self, pid: u32, stat: &Stat, scan: &mut Scan) -> bool {
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
        let has_moved = process.ticks != Some(stat.ticks());
        self.known.insert(pid, process);
        has_moved
    }

    fn scan_process(&mut self, pid: u32, stat: &Stat, left: &mut u64, scan: &mut Scan) {
        let is_first_scan = self.scans == 1;
        let Some(mut process) = self.known.remove(&pid) else { return };
        let before = process.ticks.replace(stat.ticks()).unwrap_or_default();
        let whole = used_since(pid, pid, stat, before).map(|task| Task { core: None, ..task });
        let mut used: Vec<Task> = whole.into_iter().collect();
        let known = process.threads.take();
        if stat.threads <= (*left).min(MAX_THREADS_OF_PROCESS) {
            *left -= stat.threads;
            let threads = self.read_threads(pid, stat, process.many_threads);
            if let Some(known) = known {
                // The threads of a process are read whenever its time moves, so a thread not known
                // yet has used all of its time since the last scan, except in the very first scan.
                let before = |tid| known.get(tid).copied().unwrap_or_default();
                used = threads.iter().filter_map(|(tid, s)| used_since(pid, *tid, s, before(tid))).collect();
            }
            process.threads =
                Some(threads.into_iter().map(|(tid, s)| (tid, (s.user_ticks, s.system_ticks))).collect());
        }
        if !is_first_scan {
            scan.tasks.append(&mut used);
        }
        self.known.insert(pid, process);
    }

    fn read_threads(&mut self, pid: u32, stat: &Stat, many: bool) -> Vec<(u32, Stat)> {
        if !many {
            return vec![(pid, stat.clone())];
        }
        let folder = self.proc.join(pid.to_string()).join("task");
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
            threads: Some(HashMap::new()),
            seen: 0,
        }
    }
}

fn used_since(pid: u32, tid: u32, stat: &Stat, (user, system): (u64, u64)) -> Option<Task> {
    let task = Task {
        pid,
        tid,
        comm: stat.comm.clone(),
        core: Some(stat.core),
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
    fn ticks(&self) -> (u64, u64) {
        (self.user_ticks, self.system_ticks)
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
mod tests;
