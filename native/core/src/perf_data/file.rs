//! A whole file: its head, and what to read of it in which order when perf finished it, did not, or wrote
//! to a pipe.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::bytes::Bytes;
use super::capture::Capture;
use super::reader::Reader;
use crate::plain_file;

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_OF_BIG_ENDIAN: &[u8; 8] = b"2ELIFREP";
const PIPE_HEADER_BYTES: u64 = 16;
const HEADER_BYTES: u64 = 104;

/// Why a file gave nothing at all.
#[derive(Debug)]
pub enum ReadError {
    /// The operating system would not let us read it.
    Io(io::Error),
    /// It is not a perf.data file, or not one that we can read; the text says what it is.
    Format(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "{error}"),
            Self::Format(what) => write!(formatter, "{what}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Read a whole file, or all that is left of it.
pub fn read(path: &Path) -> Result<Capture, ReadError> {
    if path.is_dir() {
        let what =
            "a folder, not a file (perf record --threads and --kcore write those; record without them)";
        return Err(ReadError::Format(what.into()));
    }
    let mut file = plain_file::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(HEADER_BYTES).read_to_end(&mut head)?;
    let mut reader = Reader::default();
    let mut cursor = Bytes::new(&head);
    match cursor.take(8) {
        Some(magic) if magic == MAGIC => {}
        Some(magic) if magic == MAGIC_OF_BIG_ENDIAN => {
            return Err(ReadError::Format(
                "a perf.data of a big-endian machine, which is not supported".into(),
            ));
        }
        _ if head.len() as u64 == HEADER_BYTES && head.iter().all(|&byte| byte == 0) => {
            reader.read_headless(&mut file, path)?;
            return Ok(reader.finish());
        }
        _ if head.is_empty() => return Err(ReadError::Format("an empty file".into())),
        _ => return Err(ReadError::Format("not a perf.data file (no PERFILE2 at its beginning)".into())),
    }
    match cursor.u64() {
        Some(PIPE_HEADER_BYTES) => {
            file.seek(SeekFrom::Start(PIPE_HEADER_BYTES))?;
            reader.read_records(&mut file, u64::MAX)?;
            if reader.capture.attrs.is_empty() {
                return Err(ReadError::Format("a perf.data stream cut off before its events".into()));
            }
        }
        Some(HEADER_BYTES) | None => {
            let cut = || ReadError::Format("a perf.data file cut off in its head".into());
            reader.read_file(&mut file, &Head::parse(&head).ok_or_else(cut)?)?;
        }
        Some(size) => {
            return Err(ReadError::Format(format!("a perf.data head of {size} bytes, not 104 or 16")));
        }
    }
    Ok(reader.finish())
}

/// The head of a file: where its parts are, as offset and size.
struct Head {
    attr_bytes: u64,
    attrs: (u64, u64),
    data: (u64, u64),
    /// Which features there are.
    bitmap: [u64; 4],
}

impl Head {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Bytes::new(bytes);
        if cursor.take(8)? != MAGIC || cursor.u64()? != HEADER_BYTES {
            return None;
        }
        let attr_bytes = cursor.u64()?;
        let attrs = (cursor.u64()?, cursor.u64()?);
        let data = (cursor.u64()?, cursor.u64()?);
        cursor.skip(16)?; // event types, unused since long
        let bitmap = [cursor.u64()?, cursor.u64()?, cursor.u64()?, cursor.u64()?];
        Some(Self { attr_bytes, attrs, data, bitmap })
    }
}

/// The newest closed segment beside an open one: `perf.data.2026111517222390` beside `perf.data`.
fn newest_closed(path: &Path) -> Option<PathBuf> {
    let prefix = format!("{}.", path.file_name()?.to_str()?);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_segment = |name: &str| {
        let time = name.strip_prefix(&prefix);
        time.is_some_and(|time| !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let names = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_segment(name)).max().map(|name| folder.join(name))
}

impl Reader {
    /// A segment of `--switch-output` but the first gets its head when it is closed: until then, or where
    /// perf was killed, zeros stand there. The closed ones beside it are of the same session.
    fn read_headless(&mut self, file: &mut File, path: &Path) -> Result<(), ReadError> {
        let alone = || {
            ReadError::Format(
                "a file that begins with zeros: a segment of perf record --switch-output that was not closed, \
                 without a closed one (same name and a time) beside it to say which events it has"
                    .into(),
            )
        };
        let closed = newest_closed(path).ok_or_else(alone)?;
        let mut other = plain_file::open(&closed)?;
        let mut head = Vec::new();
        other.by_ref().take(HEADER_BYTES).read_to_end(&mut head)?;
        let head = Head::parse(&head).ok_or_else(alone)?;
        self.read_attrs(&mut other, head.attr_bytes, head.attrs.0, head.attrs.1)?;
        self.read_features(&mut other, head.data.0.saturating_add(head.data.1), head.bitmap)?;
        let name = closed.file_name().unwrap_or_default().to_string_lossy();
        self.capture
            .gaps
            .push(format!("perf did not finish this file: its events and machine are taken from {name}"));
        file.seek(SeekFrom::Start(head.data.0))?;
        self.read_records(file, file.metadata()?.len().saturating_sub(head.data.0))
    }

    fn read_file(&mut self, file: &mut File, head: &Head) -> Result<(), ReadError> {
        let (data_offset, data_size) = head.data;
        let length = file.metadata()?.len();
        self.read_attrs(file, head.attr_bytes, head.attrs.0, head.attrs.1)?;
        if data_offset > length {
            return Err(ReadError::Format("a perf.data file cut off before its data".into()));
        }
        let data_end = if data_size == 0 {
            self.capture.gaps.push(
                "perf did not finish this file: no names of events and machine, read to its end".into(),
            );
            length
        } else {
            data_offset.saturating_add(data_size)
        };
        // Names of events first: they say which samples carry a kernel log line.
        if data_size != 0 && data_end <= length {
            self.read_features(file, data_end, head.bitmap)?;
        } else if data_size != 0 {
            let missing = data_end - length;
            self.capture
                .gaps
                .push(format!("the file is cut off: {missing} bytes of data and its features are missing"));
        }
        file.seek(SeekFrom::Start(data_offset))?;
        self.read_records(file, data_end.saturating_sub(data_offset))
    }
}
