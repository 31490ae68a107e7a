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

    /// The earliest and the latest time.
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((*self.time.iter().min()?, *self.time.iter().max()?))
    }

    fn retain(&mut self, keeps: &[bool]) {
        fn column<T>(values: &mut Vec<T>, keeps: &[bool]) {
            let mut keeps = keeps.iter();
            values.retain(|_| keeps.next().is_some_and(|&keep| keep));
        }
        column(&mut self.time, keeps);
        for values in [&mut self.cpu, &mut self.pid, &mut self.tid, &mut self.stack] {
            column(values, keeps);
        }
        column(&mut self.event, keeps);
    }
}

/// A range of time, open where there is no bound.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clip {
    /// The first time in it, nanoseconds on the capture's clock.
    pub begin: Option<i64>,
    /// The first time that is too late.
    pub end: Option<i64>,
}

impl Clip {
    fn has(self, time: u64) -> bool {
        let time = i128::from(time);
        self.begin.is_none_or(|begin| i128::from(begin) <= time)
            && self.end.is_none_or(|end| time < i128::from(end))
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

impl Capture {
    /// Keep the samples and log lines of a range of time. Names, births and mappings all stay: those from
    /// before hold in it.
    pub fn clip(&mut self, clip: Clip) {
        if clip.begin.is_none() && clip.end.is_none() {
            return;
        }
        let keeps: Vec<bool> = self.samples.time.iter().map(|&time| clip.has(time)).collect();
        self.samples.retain(&keeps);
        self.lines.retain(|line| clip.has(line.time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clipped(begin: Option<i64>, end: Option<i64>) -> (Vec<u64>, Vec<u64>) {
        let mut capture = Capture::default();
        for time in [30, 10, 20, 40] {
            let samples = &mut capture.samples;
            samples.time.push(time);
            samples.event.push(time as u16);
            for values in [&mut samples.cpu, &mut samples.pid, &mut samples.tid, &mut samples.stack] {
                values.push(time as u32);
            }
            capture.lines.push(Line { time, cpu: 0, text: String::new() });
            capture.comms.push(Comm { time, pid: 1, tid: 1, name: String::new(), exec: false });
        }
        capture.clip(Clip { begin, end });
        let samples = &capture.samples;
        for values in [&samples.cpu, &samples.pid, &samples.tid, &samples.stack] {
            assert!(values.iter().map(|&value| u64::from(value)).eq(samples.time.iter().copied()));
        }
        assert!(samples.event.iter().map(|&value| u64::from(value)).eq(samples.time.iter().copied()));
        assert_eq!(capture.comms.len(), 4);
        (capture.samples.time, capture.lines.iter().map(|line| line.time).collect())
    }

    #[test]
    fn a_range_of_time_has_its_beginning_and_not_its_end() {
        let both = |times: &[u64]| (times.to_vec(), times.to_vec());
        assert_eq!(clipped(None, None), both(&[30, 10, 20, 40]));
        assert_eq!(clipped(Some(20), None), both(&[30, 20, 40]));
        assert_eq!(clipped(None, Some(20)), both(&[10]));
        assert_eq!(clipped(Some(20), Some(40)), both(&[30, 20]));
        assert_eq!(clipped(Some(-1), Some(i64::MAX)), both(&[30, 10, 20, 40]));
        assert_eq!(clipped(Some(40), Some(20)), both(&[]));
    }

    #[test]
    fn the_span_is_that_of_all_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.span(), None);
        samples.time = vec![30, 10, 20];
        assert_eq!(samples.span(), Some((10, 30)));
    }
}
