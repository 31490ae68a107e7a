//! A tracefs instance of our own: its buffer and its events disturb nobody else's tracing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const PREFIX: &str = "necroscope-";
/// The service's own, see its unit file.
const PREPARED: &str = "necroscope";
const EVENTS: [&str; 3] = ["cgroup_mkdir", "cgroup_rmdir", "cgroup_release"];
/// Of kernel memory for all cores together, and for each at least and at most. An event takes 60 bytes and the
/// path; when a hundred thousand zombies are freed at once, one core tells of them all within a second or two.
const ALL_BUFFERS_KB: usize = 8 << 10;
const BUFFER_KB: (usize, usize) = (256, 4 << 10);
/// Instances start with the options that somebody has set for the whole machine; these are what we parse.
const OPTIONS: [&str; 10] = [
    "context-info",
    "noirq-info",
    "record-cmd",
    "overwrite",
    "norecord-tgid",
    "nolatency-format",
    "noraw",
    "nohex",
    "nobin",
    "noverbose",
];
const O_NONBLOCK: i32 = 0o4000;
/// An instance this old that nobody reads was left behind, even if a process has its number again.
const ABANDONED: Duration = Duration::from_secs(60);

/// Two ledgers of one process must not take each other's half-made instance for an old one.
static MAKING: Mutex<()> = Mutex::new(());

/// The folder in tracefs.
pub struct Instance {
    path: PathBuf,
    is_ours: bool,
}

impl Instance {
    /// Make one for the cgroup events of a hierarchy, after removing those of processes that were killed.
    pub fn open(tracing: &Path, proc: &Path, hierarchy: u32) -> io::Result<Self> {
        let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        let instances = tracing.join("instances");
        sweep(&instances, proc);
        let instance = match make(&instances) {
            Ok(path) => Self { path, is_ours: true },
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return prepared(&instances).ok_or(error);
            }
            Err(error) => return Err(error),
        };
        match instance.set_up(hierarchy) {
            Ok(()) => Ok(instance),
            Err(error) => {
                instance.remove();
                Err(error)
            }
        }
    }

    fn set_up(&self, hierarchy: u32) -> io::Result<()> {
        self.write("trace_clock", "mono")?;
        let cores = fs::read_dir(self.path.join("per_cpu")).map_or(1, Iterator::count).max(1);
        let buffer_kb = (ALL_BUFFERS_KB / cores).clamp(BUFFER_KB.0, BUFFER_KB.1);
        self.write("buffer_size_kb", &buffer_kb.to_string())?;
        for option in OPTIONS {
            let _ = self.write("trace_options", option); // not all kernels know all of them
        }
        // Wake for every event, not when the buffer is half full; before Linux 5.0 there is no other way.
        let _ = self.write("buffer_percent", "0");
        for event in EVENTS {
            self.write(&format!("events/cgroup/{event}/filter"), &format!("root=={hierarchy}"))?;
        }
        for event in EVENTS {
            self.write(&format!("events/cgroup/{event}/enable"), "1")?;
        }
        self.write("tracing_on", "1")
    }

    /// The text of the events; reading takes them out, and does not wait.
    pub fn pipe(&self) -> io::Result<File> {
        let path = self.path.join("trace_pipe");
        OpenOptions::new()
            .read(true)
            .custom_flags(O_NONBLOCK)
            .open(&path)
            .map_err(|error| of_path(&path, &error))
    }

    /// Take it away; its pipe must be closed.
    pub fn remove(&self) {
        if !self.is_ours {
            return;
        }
        let _ = self.write("tracing_on", "0");
        for event in EVENTS {
            let _ = self.write(&format!("events/cgroup/{event}/enable"), "0");
        }
        // Somebody may be looking into it.
        for _ in 0..20 {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    thread::sleep(Duration::from_millis(10));
                }
                _ => return,
            }
        }
    }

    fn write(&self, name: &str, value: &str) -> io::Result<()> {
        let path = self.path.join(name);
        // Without O_CREAT: a file that is not there must be told as such.
        let written =
            OpenOptions::new().write(true).open(&path).and_then(|mut f| f.write_all(value.as_bytes()));
        written.map_err(|error| of_path(&path, &error))
    }
}

/// An instance that somebody who may has made and switched on for us: we may read it, and not more.
fn prepared(instances: &Path) -> Option<Instance> {
    let path = instances.join(PREPARED);
    let is_on = |event| {
        fs::read(path.join(format!("events/cgroup/{event}/enable"))).is_ok_and(|on| on.starts_with(b"1"))
    };
    let clock = fs::read_to_string(path.join("trace_clock")).ok()?;
    (clock.contains("[mono]") && EVENTS.iter().all(is_on)).then_some(Instance { path, is_ours: false })
}

fn make(instances: &Path) -> io::Result<PathBuf> {
    let own = std::process::id();
    for number in 1.. {
        let name = if number == 1 { format!("{PREFIX}{own}") } else { format!("{PREFIX}{own}-{number}") };
        let path = instances.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(of_path(instances, &error)),
        }
    }
    unreachable!("the numbers do not end")
}

/// Remove what a process left behind that could not clean up. The kernel refuses while it is being read.
fn sweep(instances: &Path, proc: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(pid_of) else { continue };
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
        let is_own = pid == std::process::id();
        if is_own || !proc.join(pid.to_string()).exists() || age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// `necroscope-12` and `necroscope-12-2`, and no other.
fn pid_of(name: &str) -> Option<u32> {
    let mut numbers = name.strip_prefix(PREFIX)?.split('-').map(str::parse::<u32>);
    let pid = numbers.next()?.ok()?;
    let rest: Vec<_> = numbers.collect();
    (rest.len() < 2 && rest.iter().all(Result::is_ok)).then_some(pid)
}

/// The error with its file; a read-only file system is a matter of permission.
fn of_path(path: &Path, error: &io::Error) -> io::Error {
    let kind = match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => io::ErrorKind::PermissionDenied,
        kind => kind,
    };
    io::Error::new(kind, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names() {
        assert_eq!(pid_of("necroscope-12"), Some(12));
        assert_eq!(pid_of("necroscope-12-2"), Some(12));
        for name in
            ["necroscope", "necroscope-", "necroscope-x", "necroscope-1-x", "necroscope-1-2-3", "x-12"]
        {
            assert_eq!(pid_of(name), None, "{name}");
        }
    }

    #[test]
    fn without_tracefs_the_error_names_it() {
        let Err(error) = Instance::open(Path::new("/nowhere"), Path::new("/proc"), 4) else { panic!() };
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().starts_with("/nowhere/instances: "), "{error}");
    }
}
