//! What one pass over a perf.data file gives.

use super::attr::Attr;
use super::stacks::RawStacks;

/// Samples in columns, in the order of the file.
#[derive(Debug, Default)]
pub struct Samples {
    /// Nanoseconds on the capture's clock.
    pub time: Vec<u64>,
    /// Core.
    pub cpu: Vec<u32>,
    /// Process.
    pub pid: Vec<u32>,
    /// Thread.
    pub tid: Vec<u32>,
    /// Index of the event in `Capture::attrs`.
    pub event: Vec<u16>,
    /// Number of the raw stack.
    pub stack: Vec<u32>,
}

impl Samples {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
}

/// A thread got a name.
#[derive(Debug, Clone)]
pub struct Comm {
    /// When.
    pub time: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name from then on.
    pub name: String,
    /// Whether it was an exec, which begins a new address space.
    pub exec: bool,
}

/// A process or thread began.
#[derive(Debug, Clone)]
pub struct Fork {
    /// When.
    pub time: u64,
    /// The new process.
    pub pid: u32,
    /// Its parent.
    pub parent_pid: u32,
    /// The new thread.
    pub tid: u32,
    /// The thread that made it.
    pub parent_tid: u32,
}

/// A file (or something else) was mapped into a process.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// When.
    pub time: u64,
    /// The process; `u32::MAX` is the kernel.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// What was mapped, an index into `Capture::objects`.
    pub object: u32,
}

/// A mapped file, or a name such as `[vdso]` or `//anon`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Object {
    /// Its path as the process saw it.
    pub path: String,
    /// Its build id; empty where unknown.
    pub build_id: Vec<u8>,
}

/// A line that the kernel logged while the capture ran (`printk:console`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub time: u64,
    /// On which core.
    pub cpu: u32,
    /// The text.
    pub text: String,
}

/// The capture's clock and the time of day at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockData {
    /// `clockid_t`
    pub clock_id: u32,
    /// Time of day, nanoseconds since 1970.
    pub wall_ns: u64,
    /// The same instant on the capture's clock.
    pub clock_ns: u64,
}

/// The machine that the capture was made on, as far as the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Host name.
    pub hostname: String,
    /// Kernel release.
    pub release: String,
    /// The perf that wrote it.
    pub version: String,
    /// Cores online.
    pub cores_online: u32,
    /// Cores available.
    pub cores_available: u32,
    /// perf's command line.
    pub command: Vec<String>,
}

/// Everything read from one file.
#[derive(Debug, Default)]
pub struct Capture {
    /// The events.
    pub attrs: Vec<Attr>,
    /// The samples, in the order of the file.
    pub samples: Samples,
    /// Their stacks.
    pub stacks: RawStacks,
    /// Names of threads.
    pub comms: Vec<Comm>,
    /// Births of processes and threads.
    pub forks: Vec<Fork>,
    /// Mappings.
    pub mappings: Vec<Mapping>,
    /// What was mapped.
    pub objects: Vec<Object>,
    /// Kernel log lines.
    pub lines: Vec<Line>,
    /// Samples that the kernel had to drop.
    pub lost_samples: u64,
    /// Other records that the kernel had to drop, samples among them.
    pub lost_records: u64,
    /// Times the kernel slowed sampling down.
    pub throttles: u64,
    /// The clock, where the file ties it to the time of day.
    pub clock: Option<ClockData>,
    /// The machine.
    pub origin: Origin,
    /// What is missing or could not be understood, in plain words.
    pub gaps: Vec<String>,
}
