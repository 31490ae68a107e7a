//! Every directory below one, without reading the files in them.
//!
//! Made for cgroup hierarchies: a node has thousands of cgroups, each a directory of some forty
//! files. A directory with two links has no subdirectories, so leaves are never opened.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Longer paths cannot be opened with the name of a file behind them: the kernel takes 4,095 bytes. Any user
/// to whom a cgroup was delegated can make them.
const MAX_PATH_BYTES: usize = 3_500;

/// The directories below a root, and how many of them could not be opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Paths relative to the root, which is itself listed as the empty path.
    pub directories: Vec<String>,
    /// Directories that exist but would not let us look inside.
    pub unreadable: usize,
    /// Directories whose paths are too long to be used. They are counted only.
    pub too_deep: usize,
}

/// A directory that is still to be read.
struct Pending {
    /// An open directory above it; none is the root.
    above: Option<Rc<File>>,
    /// Its path from there.
    from_above: PathBuf,
    /// Its path from the root, if that can be used.
    relative: Option<PathBuf>,
}

impl Pending {
    fn place(&self, root: &Path) -> PathBuf {
        match &self.above {
            None => root.join(&self.from_above),
            Some(above) => Path::new(&format!("/proc/self/fd/{}", above.as_raw_fd())).join(&self.from_above),
        }
    }

    /// Open the directory, so that paths below it are short again.
    fn shorten(&mut self, root: &Path) -> io::Result<()> {
        if self.from_above.as_os_str().len() > MAX_PATH_BYTES {
            self.above = Some(Rc::new(File::open(self.place(root))?));
            self.from_above = PathBuf::new();
        }
        Ok(())
    }
}

/// List `root` and all directories below it. Directories that vanish on the way are left out.
pub fn list_directories(root: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    listing.directories.push(String::new());
    // Paths and not texts: any user may make a name that is not UTF-8.
    let first = Pending { above: None, from_above: PathBuf::new(), relative: Some(PathBuf::new()) };
    let mut pending = vec![first];
    while let Some(mut directory) = pending.pop() {
        let is_root = directory.above.is_none() && directory.from_above.as_os_str().is_empty();
        let entries = match directory.shorten(root).and_then(|()| fs::read_dir(directory.place(root))) {
            Ok(entries) => entries,
            Err(error) if is_root => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(_) => {
                listing.unreadable += 1;
                continue;
            }
        };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let name = entry.file_name();
            let relative = directory.relative.as_ref().map(|above| above.join(&name));
            let relative = relative.filter(|path| path.as_os_str().as_bytes().len() <= MAX_PATH_BYTES);
            match &relative {
                Some(path) => listing.directories.push(path.to_string_lossy().into_owned()),
                None => listing.too_deep += 1,
            }
            // Two links: "." and the entry in the parent. Some file systems always say 1.
            if metadata.nlink() != 2 {
                let from_above = directory.from_above.join(&name);
                pending.push(Pending { above: directory.above.clone(), from_above, relative });
            }
        }
    }
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("necroscope-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn lists_nested_directories_and_no_files() {
        let root = empty_folder("nested");
        fs::create_dir_all(root.join("system.slice/a.service")).unwrap();
        fs::create_dir_all(root.join("kubepods/pod1/c1")).unwrap();
        fs::write(root.join("kubepods/cgroup.procs"), "1\n").unwrap();
        let mut listing = list_directories(&root).unwrap();
        listing.directories.sort();
        let expected =
            ["", "kubepods", "kubepods/pod1", "kubepods/pod1/c1", "system.slice", "system.slice/a.service"];
        assert_eq!(listing.directories, expected);
        assert_eq!(listing.unreadable, 0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn does_not_follow_links() {
        let root = empty_folder("links");
        std::os::unix::fs::symlink("/", root.join("everything")).unwrap();
        assert_eq!(list_directories(&root).unwrap().directories, [""]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn nothing_is_hidden_below_a_name_that_is_not_text() {
        let root = empty_folder("not-text");
        let odd = root.join(std::ffi::OsStr::from_bytes(b"odd\xff"));
        fs::create_dir_all(odd.join("child/grandchild")).unwrap();
        let listing = list_directories(&root).unwrap();
        assert_eq!(
            listing.directories,
            ["", "odd\u{fffd}", "odd\u{fffd}/child", "odd\u{fffd}/child/grandchild"]
        );
        assert_eq!(listing.unreadable, 0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn directories_that_are_too_deep_are_counted() {
        let root = empty_folder("deep");
        let name = "x".repeat(250);
        let mut place = root.clone();
        for _ in 0..14 {
            place.push(&name);
        }
        fs::create_dir_all(&place).unwrap();
        let mut deepest = File::open(&place).unwrap();
        for _ in 0..30 {
            let child = format!("/proc/self/fd/{}/{name}", deepest.as_raw_fd());
            fs::create_dir(&child).unwrap();
            deepest = File::open(&child).unwrap();
        }
        let listing = list_directories(&root).unwrap();
        assert_eq!((listing.directories.len(), listing.too_deep, listing.unreadable), (14, 31, 0));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_missing_root_is_an_error() {
        let error = list_directories(Path::new("/nonexistent/cgroup")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
