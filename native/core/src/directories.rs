//! Every directory below one, without reading the files in them.
//!
//! Made for cgroup hierarchies: a node has thousands of cgroups, each a directory of some forty
//! files. A directory with two links has no subdirectories, so leaves are never opened.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The directories below a root, and how many of them could not be opened.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Paths relative to the root, which is itself listed as the empty path.
    pub directories: Vec<String>,
    /// Directories that exist but would not let us look inside.
    pub unreadable: usize,
}

/// List `root` and all directories below it. Directories that vanish on the way are left out.
pub fn list_directories(root: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    listing.directories.push(String::new());
    let mut pending = vec![PathBuf::new()]; // any user may make a name that is not UTF-8
    while let Some(relative) = pending.pop() {
        let entries = match fs::read_dir(root.join(&relative)) {
            Ok(entries) => entries,
            Err(error) if relative.as_os_str().is_empty() => return Err(error),
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
            let child = relative.join(entry.file_name());
            listing.directories.push(child.to_string_lossy().into_owned());
            // Two links: "." and the entry in the parent. Some file systems always say 1.
            if metadata.nlink() != 2 {
                pending.push(child);
            }
        }
    }
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

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
    fn a_missing_root_is_an_error() {
        let error = list_directories(Path::new("/nonexistent/cgroup")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
