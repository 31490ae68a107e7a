//! Regular files that somebody else may have planted: never a link, a pipe or a device.
//!
//! A pipe would hold us up for ever, a device may act when it is opened, a link leads where its maker wants.
//! In Python, `sources/plain_files.py` and `store/durable.py` do the same.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open as open_path, openat};
use rustix::io::Errno;

pub(crate) const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// What we write holds kernel addresses and lines of the kernel log, which are not for every user.
const FILE_MODE: u32 = 0o640;

/// Open a regular file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::from(open_path(path, READ | OFlags::NOFOLLOW, Mode::empty())?);
    match file.metadata()?.file_type() {
        kind if kind.is_file() => Ok(file),
        kind if kind.is_dir() => Err(Errno::ISDIR.into()),
        _ => Err(not_regular()),
    }
}

/// The error for a pipe, a device and the like.
pub(crate) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Make a file that does not exist yet, in a folder that is not a link.
pub fn create(path: &Path) -> io::Result<File> {
    let nameless = || io::Error::new(io::ErrorKind::InvalidInput, "names a folder, not a file");
    let name = path.file_name().ok_or_else(nameless)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = open_path(folder, flags, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    file.set_permissions(Permissions::from_mode(FILE_MODE))?; // whatever the umask is
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn only_regular_files_are_opened() {
        let scratch = Scratch::new("plain-file");
        let file = scratch.path("file");
        fs::write(&file, "text").unwrap();
        let mut text = String::new();
        open(&file).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        symlink("file", scratch.path("link")).unwrap();
        assert!(open(&scratch.path("link")).is_err());
        scratch.fifo("fifo"); // nobody writes to it, and opening it does not wait
        for other in ["fifo", "", "absent"] {
            assert!(open(&scratch.path(other)).is_err(), "{other:?}");
        }
        assert!(open(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn only_new_files_are_made() {
        let scratch = Scratch::new("plain-file-new");
        let file = scratch.path("file");
        create(&file).unwrap().write_all(b"text").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, FILE_MODE);
        assert_eq!(create(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        symlink("elsewhere", scratch.path("link")).unwrap();
        assert_eq!(create(&scratch.path("link")).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(!scratch.path("elsewhere").exists());
        fs::create_dir(scratch.path("folder")).unwrap();
        symlink("folder", scratch.path("linked")).unwrap();
        assert!(create(&scratch.path("linked/file")).is_err());
        assert!(create(&scratch.path("..")).is_err());
        assert!(create(&scratch.path("absent/file")).is_err());
        assert_eq!(fs::read_dir(scratch.path("folder")).unwrap().count(), 0);
    }
}
