//! Files that names of functions come from: which of them are believed, and how much is read.
//!
//! A process says which files it has mapped, so any user can name any file, and the files themselves belong to
//! anybody. A pipe would block us, a device would act, a link would lead to somebody's secret, and a large file
//! would fill our memory.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat, fstat, fstatfs, open};
use rustix::io::Errno;

use crate::plain_file::{READ, not_regular};
use crate::rooted::Root;

/// File systems whose files the kernel makes up when they are read, which may do something: a line that is read
/// of /proc/kmsg is gone. By their numbers in `linux/magic.h`.
const MADE_UP: [u64; 14] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0x6265_6570, // configfs
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0x4249_4e4d, // binfmt_misc
    0xf97c_ff8c, // selinuxfs
    0x1980_0202, // mqueue
];

const READABLE_BY_ALL: u32 = 0o004;
const ROOT: u32 = 0;

/// How many users have a budget of their own; all others share one.
const MAX_USERS: usize = 8;
const SHARED: u32 = u32::MAX;

/// What may still be read of the files of each user: nobody can use up what others have, by a thousand processes
/// with files of their own.
#[derive(Default)]
pub struct Budgets(HashMap<u32, Budget>);

impl Budgets {
    /// The budget of whoever owns a file.
    pub fn of(&mut self, file: &File) -> Option<&mut Budget> {
        let owner = file.metadata().ok()?.uid();
        let has_own = owner == ROOT || self.0.contains_key(&owner) || self.0.len() < MAX_USERS;
        Some(self.0.entry(if has_own { owner } else { SHARED }).or_default())
    }
}

/// How much may still be read of all files of one user that a capture refers to.
pub struct Budget {
    /// Of maps of run-time code.
    pub map_bytes: u64,
    /// Of tables of symbols; all those of a desktop with two browsers are 300 MiB.
    pub table_bytes: u64,
    /// Of names, which stay in memory.
    pub name_bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { map_bytes: 256 << 20, table_bytes: 1 << 30, name_bytes: 32 << 20 }
    }
}

impl Budget {
    /// Read a map of run-time code.
    pub fn take_map(&mut self, bytes: u64) -> Option<()> {
        take(&mut self.map_bytes, bytes)
    }

    /// Read a table of symbols.
    pub fn take_table(&mut self, bytes: u64) -> Option<()> {
        take(&mut self.table_bytes, bytes)
    }

    /// Keep a name.
    pub fn take_name(&mut self, name: &str) -> Option<()> {
        take(&mut self.name_bytes, name.len() as u64)
    }
}

fn take(left: &mut u64, wanted: u64) -> Option<()> {
    *left = left.checked_sub(wanted)?;
    Some(())
}

/// A process that was sampled, if it still runs.
pub struct Process {
    folder: PathBuf,
    /// Whose files it makes.
    user: Option<u32>,
    /// Its number as it knows it itself, in its own namespace.
    own_pid: Option<u32>,
}

impl Process {
    /// What the machine below a root says of a process.
    pub fn of(root: &Path, pid: u32) -> Self {
        let folder = root.join(format!("proc/{pid}"));
        let status = fs::read(folder.join("status")).unwrap_or_default();
        let status = String::from_utf8_lossy(&status); // a name may be any bytes
        let last_of = |field: &str| {
            let values = status.lines().find_map(|line| line.strip_prefix(field));
            values.and_then(|values| values.split_whitespace().last()?.parse().ok())
        };
        Self { user: last_of("Uid:"), own_pid: last_of("NSpid:"), folder }
    }

    fn root(&self) -> io::Result<Root> {
        Root::open(&self.folder.join("root"))
    }
}

/// The map of run-time code of a process: in its own /tmp and under the number it has itself, while it lives,
/// else in that of the machine.
///
/// Anybody may have put it there: it must belong to the user of the process or to root, and be no other name of
/// another file.
pub fn open_map(machine: &Root, process: &Process, pid: u32) -> Option<File> {
    let inside = process.own_pid.and_then(|own| open_map_in(&process.root().ok()?, own, process).ok());
    inside.or_else(|| open_map_in(machine, pid, process).ok())
}

fn open_map_in(root: &Root, pid: u32, process: &Process) -> io::Result<File> {
    let found = root.find(Path::new(&format!("tmp/perf-{pid}.map")), false)?;
    let status = fstat(&found)?;
    let is_by_root = status.st_uid == ROOT;
    if status.st_nlink != 1 || !(is_by_root || Some(status.st_uid) == process.user) {
        return Err(Errno::PERM.into());
    }
    open_found(&found, &status)
}

/// A program or library as one of its processes sees it, while that lives.
///
/// It must belong to the user of the process, or be there for everybody to read: what anybody may read has no
/// secrets. What only root may read is not read for a process of another user, who could have put it in the place
/// of a file of theirs.
pub fn open_in_process(process: &Process, path: &Path) -> io::Result<File> {
    open_program_in(&process.root()?, path, process.user)
}

/// The same as the machine sees it.
pub fn open_program(machine: &Root, path: &Path) -> io::Result<File> {
    open_program_in(machine, path, None)
}

fn open_program_in(root: &Root, path: &Path, user: Option<u32>) -> io::Result<File> {
    let found = root.find(path, true)?;
    let status = fstat(&found)?;
    if Some(status.st_uid) != user && status.st_mode & READABLE_BY_ALL == 0 {
        return Err(Errno::PERM.into());
    }
    open_found(&found, &status)
}

/// Open what was found, and nothing that was put in its place since; what is no regular file is never opened.
fn open_found(found: &OwnedFd, status: &Stat) -> io::Result<File> {
    let is_made_up = MADE_UP.contains(&(fstatfs(found)?.f_type as u64));
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile || is_made_up {
        return Err(not_regular());
    }
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(File::from(open(path, READ, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use super::*;
    use crate::scratch::Scratch;

    const SOMEBODY: u32 = 4711;

    /// A machine with one process, whose root is a folder of its own.
    struct Machine(Scratch);

    impl Machine {
        fn new(name: &str) -> Self {
            let machine = Self(Scratch::new(name));
            for folder in ["tmp", "proc/7", "inside/tmp", "inside/bin"] {
                fs::create_dir_all(machine.0.path(folder)).unwrap();
            }
            symlink("../../inside", machine.0.path("proc/7/root")).unwrap();
            let user = machine.user();
            let status = format!("Name:\tx\nUid:\t0\t0\t0\t{user}\nNSpid:\t7\t1\n");
            machine.write("proc/7/status", status.as_bytes());
            machine
        }

        /// Who runs the tests.
        fn user(&self) -> u32 {
            fs::metadata(self.0.path("")).unwrap().uid()
        }

        fn write(&self, path: &str, text: &[u8]) -> PathBuf {
            fs::write(self.0.path(path), text).unwrap();
            self.0.path(path)
        }

        fn map(&self) -> Option<String> {
            let map = open_map(&Root::open(&self.0.path("")).unwrap(), &self.process(), 7)?;
            Some(io::read_to_string(map).unwrap())
        }

        fn process(&self) -> Process {
            Process::of(&self.0.path(""), 7)
        }

        fn program(&self, path: &str) -> Option<String> {
            let program = open_in_process(&self.process(), Path::new(path)).ok()?;
            Some(io::read_to_string(program).unwrap())
        }
    }

    #[test]
    fn the_map_in_the_own_tmp_of_a_process_comes_first() {
        let machine = Machine::new("map-places");
        assert_eq!(machine.map(), None);
        machine.write("tmp/perf-7.map", b"outside");
        assert_eq!(machine.map().as_deref(), Some("outside"));
        machine.write("inside/tmp/perf-1.map", b"inside");
        assert_eq!(machine.map().as_deref(), Some("inside"));
    }

    #[test]
    fn maps_that_somebody_planted_are_not_read() {
        let machine = Machine::new("map-planted");
        let map = machine.0.path("tmp/perf-7.map");
        let secret = machine.write("secret", b"1 1 secret");
        symlink(&secret, &map).unwrap();
        assert_eq!(machine.map(), None, "a link");
        fs::remove_file(&map).unwrap();
        fs::hard_link(&secret, &map).unwrap();
        assert_eq!(machine.map(), None, "another name of another file");
        fs::remove_file(&map).unwrap();
        machine.0.fifo("tmp/perf-7.map");
        assert_eq!(machine.map(), None, "a pipe");
        fs::remove_file(&map).unwrap();
        fs::create_dir(&map).unwrap();
        assert_eq!(machine.map(), None, "a folder");
        fs::remove_dir(&map).unwrap();
        fs::write(&map, "1 1 name").unwrap();
        if machine.user() == ROOT {
            chown(&map, Some(SOMEBODY), None).unwrap();
            assert_eq!(machine.map(), None, "of another user");
            fs::remove_file(machine.0.path("proc/7/status")).unwrap();
            assert_eq!(machine.map(), None, "the process has ended, and nobody knows whose it was");
            chown(&map, Some(ROOT), None).unwrap();
            assert!(machine.map().is_some(), "of root");
        }
    }

    #[test]
    fn programs_are_those_of_the_process_of_root_or_for_everybody() {
        let machine = Machine::new("programs");
        let program = machine.write("inside/bin/program", b"inside");
        machine.write("outside", b"outside");
        symlink("/bin/program", machine.0.path("inside/link")).unwrap();
        symlink(machine.0.path("outside"), machine.0.path("inside/out")).unwrap();
        machine.0.fifo("inside/pipe");
        assert_eq!(machine.program("/link").as_deref(), Some("inside"));
        for path in ["/out", "/pipe", "/bin", "/absent"] {
            assert_eq!(machine.program(path), None, "{path}");
        }
        let whole = Root::open(&machine.0.path("")).unwrap();
        assert!(open_program(&whole, Path::new("/outside")).is_ok());
        if machine.user() == ROOT {
            chown(&program, Some(SOMEBODY), None).unwrap();
            fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            assert!(machine.program("/bin/program").is_some());
            fs::set_permissions(&program, PermissionsExt::from_mode(0o750)).unwrap();
            assert_eq!(machine.program("/bin/program"), None);
        }
    }

    #[test]
    fn nobody_uses_up_the_budget_of_others() {
        let scratch = Scratch::new("budgets");
        let file = |name: &str, owner: u32| {
            fs::write(scratch.path(name), "").unwrap();
            chown(scratch.path(name), Some(owner), None).unwrap();
            File::open(scratch.path(name)).unwrap()
        };
        let mut budgets = Budgets::default();
        if fs::metadata(scratch.path("")).unwrap().uid() != ROOT {
            return; // only root can give files away
        }
        let all = budgets.of(&file("first", SOMEBODY)).unwrap().table_bytes;
        budgets.of(&file("first", SOMEBODY)).unwrap().take_table(all).unwrap();
        assert_eq!(budgets.of(&file("second", SOMEBODY)).unwrap().table_bytes, 0);
        for user in 1..1000 {
            budgets.of(&file("many", SOMEBODY + user)).unwrap().table_bytes = 0;
        }
        assert_eq!(budgets.of(&file("root", ROOT)).unwrap().table_bytes, all);
        assert!(budgets.0.len() <= MAX_USERS + 2);
    }

    #[test]
    fn what_may_act_when_it_is_opened_or_read_is_not_opened() {
        let machine = Root::open(Path::new("/")).unwrap();
        for path in ["/dev/null", "/proc/version", "/proc/self/status", "/sys/kernel/notes"] {
            assert!(open_program(&machine, Path::new(path)).is_err(), "{path}");
        }
        assert!(open_program(&machine, &std::env::current_exe().unwrap()).is_ok());
    }
}
