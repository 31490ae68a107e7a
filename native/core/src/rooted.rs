//! Files below a root, found as a process whose root that is would find them.
//!
//! A container may hold any link: `/lib -> usr/lib`, or `/tmp/x -> /etc/shadow` to lead us to a file of the
//! host. So a link with an absolute name begins at that root again, and `..` does not lead out of it: every step
//! is taken from a directory that is held open, and the kernel follows no link. From Linux 5.6 on, openat2 with
//! RESOLVE_IN_ROOT does the same; the kernels that we run on are older, too.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat, readlinkat};
use rustix::io::Errno;

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;
/// Directories on the way, those that links add among them.
const MAX_STEPS: usize = 1000;

const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory that is taken for the root.
pub struct Root(OwnedFd);

impl Root {
    /// Any directory; `/proc/PID/root` is that of a process.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(path, flags, Mode::empty())?))
    }

    /// Find what a path names, without opening it: a descriptor to ask what it is. Whether the name itself may
    /// be a link is up to the caller.
    pub fn find(&self, path: &Path, may_be_link: bool) -> io::Result<OwnedFd> {
        let mut ahead: Vec<OsString> = Vec::new();
        push_names(&mut ahead, path.as_os_str());
        let mut inside: Vec<OwnedFd> = Vec::new(); // the directories that we are in, below the root
        let mut links = 0;
        for _ in 0..MAX_STEPS {
            let Some(name) = ahead.pop() else {
                let folder = inside.pop().map_or_else(|| self.0.try_clone(), Ok);
                return folder; // the root itself, or by `..` a folder above what the path names
            };
            if name == ".." {
                inside.pop();
                continue;
            }
            let found = openat(inside.last().unwrap_or(&self.0), &name, LOOK, Mode::empty())?;
            match FileType::from_raw_mode(fstat(&found)?.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if links > MAX_LINKS || (ahead.is_empty() && !may_be_link) {
                        return Err(Errno::LOOP.into());
                    }
                    let target = OsString::from_vec(readlinkat(&found, "", Vec::new())?.into_bytes());
                    if target.as_bytes().starts_with(b"/") {
                        inside.clear();
                    }
                    push_names(&mut ahead, &target);
                }
                _ if ahead.is_empty() => return Ok(found),
                FileType::Directory => inside.push(found),
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        Err(Errno::LOOP.into())
    }
}

/// Put the names of a path where the next one is taken from.
fn push_names(ahead: &mut Vec<OsString>, path: &OsStr) {
    let names = path.as_bytes().rsplit(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    ahead.extend(names.map(|name| OsStr::from_bytes(name).to_os_string()));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::Scratch;

    /// The inode that a path leads to, below `root` of a scratch folder.
    fn inode(scratch: &Scratch, path: &str) -> Option<u64> {
        let root = Root::open(&scratch.path("root")).unwrap();
        root.find(Path::new(path), true).ok().map(|found| fstat(&found).unwrap().st_ino)
    }

    #[test]
    fn links_lead_to_places_below_the_root_only() {
        use std::os::unix::fs::MetadataExt;
        let scratch = Scratch::new("rooted");
        fs::create_dir_all(scratch.path("root/usr/lib")).unwrap();
        fs::create_dir_all(scratch.path("secret")).unwrap();
        fs::write(scratch.path("secret/file"), "").unwrap();
        fs::write(scratch.path("root/usr/lib/file"), "").unwrap();
        let secret = scratch.path("secret/file");
        let secret = secret.to_str().unwrap();
        for (link, target) in [
            ("lib", "usr/lib"),
            ("whole", "/usr/lib/file"),
            ("out", secret),
            ("up", "../../../../../../../../../usr/lib/file"),
            ("beside", "../secret/file"),
            ("usr/lib/again", "../../lib/./file"),
            ("loop", "loop"),
            ("self", "/"),
        ] {
            symlink(target, scratch.path("root").join(link)).unwrap();
        }
        let file = Some(fs::metadata(scratch.path("root/usr/lib/file")).unwrap().ino());
        for path in [
            "usr/lib/file",
            "/usr/lib/file",
            "//usr/./lib//file",
            "lib/file",
            "whole",
            "up",
            "lib/again",
            "usr/lib/../../../../lib/file",
            "self/self/usr/lib/file",
        ] {
            assert_eq!(inode(&scratch, path), file, "{path}");
        }
        let root = Some(fs::metadata(scratch.path("root")).unwrap().ino());
        for path in ["", "/", "..", "usr/..", "self"] {
            assert_eq!(inode(&scratch, path), root, "{path}");
        }
        for path in ["out", "beside", "loop", "absent", "usr/lib/file/x", secret] {
            assert_eq!(inode(&scratch, path), None, "{path}");
        }
    }

    #[test]
    fn the_last_name_may_have_to_be_the_file_itself() {
        let scratch = Scratch::new("rooted-last");
        fs::create_dir_all(scratch.path("var/tmp")).unwrap();
        fs::write(scratch.path("var/tmp/file"), "").unwrap();
        symlink("var/tmp", scratch.path("tmp")).unwrap();
        symlink("file", scratch.path("var/tmp/link")).unwrap();
        let root = Root::open(&scratch.path("")).unwrap();
        assert!(root.find(Path::new("tmp/file"), false).is_ok());
        assert!(root.find(Path::new("tmp/link"), true).is_ok());
        assert!(root.find(Path::new("tmp/link"), false).is_err());
    }

    #[test]
    fn links_without_an_end_are_given_up() {
        let scratch = Scratch::new("rooted-long");
        symlink("./".repeat(1000) + "a", scratch.path("a")).unwrap();
        symlink("d/".repeat(1500) + "b", scratch.path("b")).unwrap();
        symlink(".", scratch.path("d")).unwrap();
        for path in ["a", "b"] {
            assert_eq!(inode_of(&scratch, path), None);
        }
    }

    fn inode_of(scratch: &Scratch, path: &str) -> Option<u64> {
        let root = Root::open(&scratch.path("")).unwrap();
        root.find(Path::new(path), true).ok().map(|found| fstat(&found).unwrap().st_ino)
    }

    #[test]
    fn links_of_the_kernel_are_names_like_others() {
        let root = Root::open(Path::new("/")).unwrap();
        let kept = std::env::current_exe().unwrap();
        assert!(root.find(&kept, true).is_ok());
        // "/proc/self/root" would lead to the root of whoever asks; here it is this root.
        let scratch = Scratch::new("rooted-magic");
        fs::create_dir_all(scratch.path("root")).unwrap();
        let proc = Path::new("/proc/self");
        let below = Root::open(proc).unwrap();
        assert!(below.find(Path::new("root/etc/passwd"), true).is_err(), "/etc/passwd is not below {proc:?}");
        assert!(below.find(Path::new("exe"), true).is_err());
    }
}
