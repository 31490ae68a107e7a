//! The process behind an event, looked at before it can end.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::fold::fold;
use super::interned::Interned;
use super::line::Event;
use crate::hash::FastMap;

/// A process may move or become another program; this long it is taken for the same.
const REMEMBERED_NS: u64 = 1_000_000_000;
const MOST_REMEMBERED: usize = 4096;
/// Longer texts are cut, and nobody takes a cut text for a whole one: it does not end with a line feed.
const LONGEST_TEXT: usize = 1024;
/// Programs of one name in so many different cgroups are taken together from then on, by pattern.
const MOST_ALIKE: u16 = 32;

/// A program, and the cgroups that it was in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Who {
    /// Empty: it was gone, and the kernel had forgotten its name.
    pub comm: String,
    /// The lines of `/proc/PID/cgroup` that tell the unit and the memory cgroup; empty: it was gone.
    pub cgroups: String,
}

/// Looks at processes, and remembers them for a moment.
pub struct Processes {
    proc: PathBuf,
    known: FastMap<u32, (u64, u16)>,
    alike: HashMap<Who, u16>,
}

impl Processes {
    /// The processes in the proc file system mounted at `proc`.
    pub fn new(proc: &Path) -> Self {
        Self { proc: proc.to_path_buf(), known: FastMap::default(), alike: HashMap::new() }
    }

    /// The number of who caused an event.
    pub fn behind(&mut self, event: &Event, people: &mut Interned<Who>) -> u16 {
        if let Some(&(time_ns, who)) = self.known.get(&event.pid)
            && event.time_ns.saturating_sub(time_ns) < REMEMBERED_NS
        {
            return who;
        }
        let who = self.look_at(event);
        let number = match people.find(&who) {
            Some(number) => number,
            None => {
                let who = self.one_of_many(who);
                people.find(&who).unwrap_or_else(|| people.add(who))
            }
        };
        if self.known.len() >= MOST_REMEMBERED {
            self.known.clear();
        }
        self.known.insert(event.pid, (event.time_ns, number));
        number
    }

    /// The numbers are given to others now.
    pub fn forget(&mut self) {
        self.known.clear();
        self.alike.clear();
    }

    fn look_at(&self, event: &Event) -> Who {
        let folder = self.proc.join(event.pid.to_string());
        match (fs::read(folder.join("comm")), read_cgroups(&folder.join("cgroup"))) {
            (Ok(comm), Some(cgroups)) => {
                Who { comm: text(comm.strip_suffix(b"\n").unwrap_or(&comm)), cgroups }
            }
            _ => {
                let comm = if event.comm == b"<...>" { &[][..] } else { event.comm };
                Who { comm: text(comm), cgroups: String::new() }
            }
        }
    }

    fn one_of_many(&mut self, who: Who) -> Who {
        let pattern = Who { comm: who.comm.clone(), cgroups: fold_lines(&who.cgroups) };
        if self.alike.len() >= MOST_REMEMBERED {
            self.alike.clear();
        }
        let count = self.alike.entry(pattern.clone()).or_default();
        *count = count.saturating_add(1);
        if *count > MOST_ALIKE { pattern } else { who }
    }
}

/// The lines with numbers and hashes folded in their paths, not in what stands before.
fn fold_lines(cgroups: &str) -> String {
    let (mut folded, mut pattern, mut parts) = (String::new(), Vec::new(), Vec::new());
    for line in cgroups.split_inclusive('\n') {
        let path_at = line.find('/').unwrap_or(line.len());
        let (path, end) =
            line[path_at..].strip_suffix('\n').map_or((&line[path_at..], ""), |path| (path, "\n"));
        fold(path.as_bytes(), &mut pattern, &mut parts);
        folded.extend([&line[..path_at], &text(&pattern), end]);
    }
    folded
}

fn read_cgroups(path: &Path) -> Option<String> {
    let mut whole = Vec::with_capacity(LONGEST_TEXT);
    File::open(path).ok()?.take(16 << 10).read_to_end(&mut whole).ok()?;
    if whole.is_empty() {
        return None; // it ended while we looked
    }
    let mut kept = Vec::new();
    for line in whole.split_inclusive(|&byte| byte == b'\n') {
        let controllers = line.split(|&byte| byte == b':').nth(1).unwrap_or_default();
        let tells = controllers.split(|&byte| byte == b',').any(|name| name == b"memory" || name == b"");
        if tells || controllers == b"name=systemd" {
            kept.extend(line);
        }
    }
    kept.truncate(LONGEST_TEXT);
    Some(text(&kept))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CGROUPS: &str = "9:name=systemd:/a.service\n8:pids:/x\n4:memory:/m\n0::/u\n";

    fn event(comm: &'static [u8], pid: u32, time_ns: u64) -> Event<'static> {
        Event { root: 4, comm, pid, time_ns, id: 1, path: b"/" }
    }

    fn process(proc: &Path, pid: u32, comm: &str, cgroups: &str) {
        let folder = proc.join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cgroup"), cgroups).unwrap();
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("necroscope-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_process_is_looked_at_and_remembered_for_a_second() {
        let folder = Folder::new("who");
        process(&folder.0, 7, "a b", CGROUPS);
        let mut people = Interned::new(Who::default());
        let mut processes = Processes::new(&folder.0);
        let first = processes.behind(&event(b"<...>", 7, 10), &mut people);
        let expected = "9:name=systemd:/a.service\n4:memory:/m\n0::/u\n".to_string();
        assert_eq!(people.get(first), &Who { comm: "a b".into(), cgroups: expected });
        process(&folder.0, 7, "other", CGROUPS);
        assert_eq!(processes.behind(&event(b"", 7, 10 + REMEMBERED_NS - 1), &mut people), first);
        let later = processes.behind(&event(b"", 7, 10 + REMEMBERED_NS), &mut people);
        assert_eq!(people.get(later).comm, "other");
    }

    #[test]
    fn one_that_is_gone_has_the_name_that_the_kernel_remembers_or_none() {
        let folder = Folder::new("gone");
        let mut people = Interned::new(Who::default());
        let mut processes = Processes::new(&folder.0);
        let named = processes.behind(&event(b"mkdir", 7, 1), &mut people);
        assert_eq!(people.get(named), &Who { comm: "mkdir".into(), cgroups: String::new() });
        let unnamed = processes.behind(&event(b"<...>", 8, 1), &mut people);
        assert_eq!(people.get(unnamed), &Who::default());
    }

    #[test]
    fn one_program_in_many_cgroups_does_not_fill_the_list() {
        let folder = Folder::new("many");
        let mut people = Interned::new(Who::default());
        let mut processes = Processes::new(&folder.0);
        for pid in 1..=1000 {
            process(&folder.0, pid, "runc", &format!("0::/docker/{pid}\n"));
            processes.behind(&event(b"", pid, 1), &mut people);
        }
        assert_eq!(people.len(), 2 + usize::from(MOST_ALIKE));
        assert_eq!(people.get(1 + MOST_ALIKE).cgroups, "0::/docker/#\n");
    }
}
