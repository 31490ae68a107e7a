//! The pass itself: header, records, features.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::attr::{Attr, TRACEPOINT, field};
use super::bytes::{Bytes, text};
use super::capture::{Capture, Comm, Fork, Line, Mapping, Object};
use super::features::{BuildIds, Feature, feature, read_build_id, read_feature};
use super::stacks::{GUEST, KERNEL, USER};
use super::stream::{Next, Record, Splitter};

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_OF_BIG_ENDIAN: &[u8; 8] = b"2ELIFREP";
const PIPE_HEADER_BYTES: u64 = 16;
const HEADER_BYTES: u64 = 104;
/// More events than any session has; a larger number is a damaged file.
const MOST_ATTRS: u64 = 4096;
const LARGEST_SECTION_BYTES: u64 = 64 << 20;
/// A compressed record of 64 KiB that claims to hold more than this is damaged.
const MOST_DECOMPRESSED_BYTES: usize = 64 << 20;
const BLOCK_BYTES: usize = 1 << 18;
/// The most that a kernel can be built for (`NR_CPUS`); a larger number is damage.
const MOST_CORES: u32 = 8192;
/// Later than this no clock can be: the sealed profile has signed times.
const LAST_TIME: u64 = i64::MAX as u64;

/// Types of records, `PERF_RECORD_*`.
mod kind {
    pub const MMAP: u32 = 1;
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const MMAP2: u32 = 10;
    pub const LOST_SAMPLES: u32 = 13;
    pub const HEADER_ATTR: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const HEADER_BUILD_ID: u32 = 67;
    pub const AUXTRACE: u32 = 71;
    pub const EVENT_UPDATE: u32 = 78;
    pub const HEADER_FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_CPUMODE: u16 = 7;
const CPUMODE_KERNEL: u16 = 1;
const CPUMODE_USER: u16 = 2;
const EVENT_UPDATE_NAME: u64 = 2;

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
    let mut file = File::open(path)?;
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

#[derive(Default)]
struct Reader {
    capture: Capture,
    event_of_id: HashMap<u64, u16>,
    object_numbers: HashMap<Object, u32>,
    /// From the file's head or the end of a stream; mapping records may have their own.
    build_ids: BuildIds,
    decoder: Option<Decoder<'static>>,
    decompressed: Splitter,
    console: Option<u16>,
    unreadable_samples: u64,
    unreadable_records: u64,
    unreadable_blocks: u64,
}

/// What must happen after a record, before the next can be read.
enum Then {
    GoOn,
    /// So many bytes of data follow the record.
    Skip(u64),
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
        let mut other = File::open(&closed)?;
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

    fn read_attrs(
        &mut self,
        file: &mut File,
        attr_bytes: u64,
        offset: u64,
        size: u64,
    ) -> Result<(), ReadError> {
        const SECTION: u64 = 16;
        let damaged =
            || ReadError::Format("a perf.data file with cut off or damaged event descriptions".into());
        let count = if attr_bytes > SECTION { size / attr_bytes } else { 0 };
        if count == 0 || count > MOST_ATTRS || attr_bytes > 4096 {
            return Err(damaged());
        }
        let table = section(file, offset, size)?.ok_or_else(damaged)?;
        // Sections do not overlap, so all ids together are no more than the file.
        let mut ids_left = file.metadata()?.len();
        let mut ids_missing = false;
        for entry in table.chunks_exact(attr_bytes as usize) {
            let (attr, ids) = entry.split_at((attr_bytes - SECTION) as usize);
            let attr = Attr::parse(attr).ok_or_else(damaged)?;
            let mut cursor = Bytes::new(ids);
            let (Some(ids_offset), Some(ids_size)) = (cursor.u64(), cursor.u64()) else {
                return Err(damaged());
            };
            let event = self.capture.attrs.len() as u16;
            let ids = if ids_size <= ids_left { section(file, ids_offset, ids_size)? } else { None };
            ids_left = ids_left.saturating_sub(ids_size);
            ids_missing |= ids.is_none();
            for id in ids.unwrap_or_default().chunks_exact(8) {
                self.event_of_id.insert(u64::from_le_bytes(id.try_into().unwrap_or_default()), event);
            }
            self.capture.attrs.push(attr);
        }
        if ids_missing {
            self.capture.gaps.push("ids of events are missing: their samples cannot be told apart".into());
        }
        Ok(())
    }

    fn read_features(&mut self, file: &mut File, offset: u64, bitmap: [u64; 4]) -> Result<(), ReadError> {
        let bits = (0..256_u32).filter(|bit| bitmap[(bit / 64) as usize] >> (bit % 64) & 1 == 1);
        let mut missing = 0;
        let length = file.metadata()?.len();
        for (index, bit) in bits.enumerate() {
            let place = section(file, offset.saturating_add(16 * index as u64), 16)?.unwrap_or_default();
            let mut cursor = Bytes::new(&place);
            let taken = match (cursor.u64(), cursor.u64()) {
                (Some(begin), Some(size)) if feature::USED.contains(&bit) => {
                    section(file, begin, size)?.and_then(|bytes| self.take_feature(bit, &bytes))
                }
                (Some(begin), Some(size)) => begin.checked_add(size).filter(|&end| end <= length).map(drop),
                _ => None,
            };
            missing += u32::from(taken.is_none());
        }
        if missing > 0 {
            let gap = format!("{missing} feature sections (events, machine, clock) are cut off or damaged");
            self.capture.gaps.push(gap);
        }
        Ok(())
    }

    fn take_feature(&mut self, bit: u32, bytes: &[u8]) -> Option<()> {
        match read_feature(bit, bytes, &mut self.capture)? {
            Feature::Taken => {}
            Feature::EventNames(names) => {
                for (index, (name, ids)) in names.into_iter().enumerate() {
                    let known = ids.first().and_then(|id| self.event_of_id.get(id).copied());
                    self.name_event(known.unwrap_or(index as u16), name);
                }
            }
            Feature::BuildIds(ids) => self.build_ids.extend(ids),
        }
        Some(())
    }

    fn name_event(&mut self, event: u16, name: String) {
        if let Some(attr) = self.capture.attrs.get_mut(usize::from(event)) {
            if name == "printk:console" {
                self.console = Some(event);
            }
            attr.name = name;
        }
    }

    fn read_records(&mut self, file: &mut File, length: u64) -> Result<(), ReadError> {
        let mut splitter = Splitter::default();
        let mut left = length;
        let mut skip = 0_u64;
        loop {
            if skip > 0 {
                skip -= splitter.discard(usize::try_from(skip).unwrap_or(usize::MAX)) as u64;
            }
            while skip == 0 {
                match splitter.next_record() {
                    Next::Record(record) => {
                        if let Then::Skip(bytes) = self.take_record(record) {
                            skip =
                                bytes - splitter.discard(usize::try_from(bytes).unwrap_or(usize::MAX)) as u64;
                        }
                    }
                    Next::Incomplete => break,
                    Next::Broken => {
                        self.capture.gaps.push("a record with an impossible size: read up to there".into());
                        return Ok(());
                    }
                }
            }
            let read = if left == 0 { 0 } else { splitter.fill(file, left)? };
            left -= read as u64;
            if read == 0 {
                if splitter.pending() > 0 || skip > 0 {
                    self.capture
                        .gaps
                        .push(format!("the last record is cut off ({} bytes of it)", splitter.pending()));
                }
                return Ok(());
            }
        }
    }

    fn take_record(&mut self, record: Record<'_>) -> Then {
        let taken = match record.kind {
            kind::SAMPLE => self.take_sample(record),
            kind::MMAP | kind::MMAP2 => self.take_mapping(record),
            kind::COMM => self.take_comm(record),
            kind::FORK => self.take_fork(record.body),
            kind::LOST => {
                let mut cursor = Bytes::new(record.body);
                let lost = cursor.skip(8).and_then(|()| cursor.u64()); // behind the event's id
                lost.map(|lost| add(&mut self.capture.lost_records, lost))
            }
            kind::LOST_SAMPLES => {
                Bytes::new(record.body).u64().map(|lost| add(&mut self.capture.lost_samples, lost))
            }
            kind::THROTTLE => {
                self.capture.throttles += 1;
                Some(())
            }
            kind::HEADER_ATTR => self.take_attr(record.body),
            kind::EVENT_UPDATE => self.take_update(record.body),
            kind::HEADER_FEATURE => self.take_feature_record(record.body),
            kind::HEADER_BUILD_ID => read_build_id(record.misc, record.body)
                .map(|(path, id)| drop(self.build_ids.insert(path, id))),
            kind::COMPRESSED => self.take_compressed(record.body),
            kind::COMPRESSED2 => self.take_compressed2(record.body),
            // The data of these two follows the record, outside of its size.
            kind::TRACING_DATA => {
                return Then::Skip(u64::from(Bytes::new(record.body).u32().unwrap_or(0)).next_multiple_of(8));
            }
            kind::AUXTRACE => return Then::Skip(Bytes::new(record.body).u64().unwrap_or(0)),
            _ => Some(()),
        };
        match record.kind {
            _ if taken.is_some() => {}
            kind::SAMPLE => self.unreadable_samples += 1,
            kind::COMPRESSED | kind::COMPRESSED2 => self.unreadable_blocks += 1,
            _ => self.unreadable_records += 1,
        }
        Then::GoOn
    }

    fn take_sample(&mut self, record: Record<'_>) -> Option<()> {
        let body = record.body;
        let event = self.event_of(body)?;
        let attr = self.capture.attrs.get(usize::from(event))?;
        let mut cursor = Bytes::new(body);
        let mut word = |bits: u64| if attr.has(bits) { cursor.u64().map(Some) } else { Some(None) };
        word(field::IDENTIFIER)?;
        let ip = word(field::IP)?;
        let task = word(field::TID)?.unwrap_or(0);
        let time = word(field::TIME)?.unwrap_or(0);
        word(field::ADDR)?;
        word(field::ID)?;
        word(field::STREAM_ID)?;
        let cpu = word(field::CPU)?.unwrap_or(u64::from(u32::MAX)) as u32;
        word(field::PERIOD)?;
        if time > LAST_TIME || (cpu >= MOST_CORES && cpu != u32::MAX) {
            return None;
        }
        if attr.has(field::READ) {
            skip_read(&mut cursor, attr.read_format)?;
        }
        let own; // lives as long as the chain
        let chain = if attr.has(field::CALLCHAIN) {
            let count = usize::try_from(cursor.u64()?).ok()?;
            cursor.take(count.checked_mul(8)?)?
        } else {
            own = ip.map(|ip| lone_frame(record.misc, ip));
            own.as_ref().map_or(&[][..], |bytes| &bytes[..])
        };
        // A file that perf did not finish has no names: there a log line is told by its shape.
        let may_be_line = attr.name.is_empty() && attr.kind == TRACEPOINT;
        let is_line = (self.console == Some(event) || may_be_line) && attr.has(field::RAW);
        if let Some(text) = is_line.then(|| console_text(&mut cursor)).flatten() {
            self.capture.lines.push(Line { time, cpu, text });
        }
        let stack = self.capture.stacks.intern(chain);
        let samples = &mut self.capture.samples;
        samples.time.push(time);
        samples.cpu.push(cpu);
        samples.pid.push(task as u32);
        samples.tid.push((task >> 32) as u32);
        samples.event.push(event);
        samples.stack.push(stack);
        Some(())
    }

    fn event_of(&self, sample: &[u8]) -> Option<u16> {
        let [first, rest @ ..] = self.capture.attrs.as_slice() else { return None };
        if rest.is_empty() {
            return Some(0);
        }
        let position = first.id_position()?;
        let id = Bytes::new(sample.get(position..)?).u64()?;
        self.event_of_id.get(&id).copied()
    }

    /// The time that a record other than a sample carries behind its own fields; 0 where it has none.
    fn time_of(&self, body: &[u8]) -> u64 {
        let Some(attr) = self.capture.attrs.first() else { return 0 };
        let trailer = attr.trailer();
        body.len().checked_sub(trailer).and_then(|begin| attr.trailer_time(&body[begin..])).unwrap_or(0)
    }

    fn take_mapping(&mut self, record: Record<'_>) -> Option<()> {
        let time = self.time_of(record.body);
        let mut cursor = Bytes::new(record.body);
        let pid = cursor.u32()?;
        cursor.skip(4)?; // tid
        let (start, length, offset) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let mut build_id = Vec::new();
        let mut executable = record.misc & MISC_MMAP_DATA == 0;
        if record.kind == kind::MMAP2 {
            let identity = cursor.take(24)?; // a build id, or device and inode
            if record.misc & MISC_MMAP_BUILD_ID != 0 {
                build_id = identity.get(4..4 + usize::from(identity[0]).min(20))?.to_vec();
            }
            let protection = cursor.u32()?;
            cursor.skip(4)?; // flags
            executable = protection & 4 != 0;
        }
        if !executable {
            return Some(());
        }
        let path = text(cursor.rest());
        let object = self.object(Object { path, build_id });
        let is_kernel = record.misc & MISC_CPUMODE == CPUMODE_KERNEL;
        let pid = if is_kernel { u32::MAX } else { pid };
        self.capture.mappings.push(Mapping { time, pid, start, length, offset, object });
        Some(())
    }

    fn object(&mut self, object: Object) -> u32 {
        if let Some(&number) = self.object_numbers.get(&object) {
            return number;
        }
        let number = self.capture.objects.len() as u32;
        self.capture.objects.push(object.clone());
        self.object_numbers.insert(object, number);
        number
    }

    fn take_comm(&mut self, record: Record<'_>) -> Option<()> {
        let time = self.time_of(record.body);
        let mut cursor = Bytes::new(record.body);
        let (pid, tid) = (cursor.u32()?, cursor.u32()?);
        let name = text(cursor.rest());
        self.capture.comms.push(Comm { time, pid, tid, name, exec: record.misc & MISC_COMM_EXEC != 0 });
        Some(())
    }

    fn take_fork(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let (pid, parent_pid, tid, parent_tid) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let time = cursor.u64()?;
        self.capture.forks.push(Fork { time, pid, parent_pid, tid, parent_tid });
        Some(())
    }

    /// Pipe mode: an event's description, then its ids.
    fn take_attr(&mut self, body: &[u8]) -> Option<()> {
        let size = Bytes::new(body.get(4..)?).u32()? as usize;
        let (attr, ids) = body.split_at_checked(size)?;
        let event = self.capture.attrs.len() as u16;
        if u64::from(event) >= MOST_ATTRS {
            return None; // so that `event` is what it was cast from
        }
        self.capture.attrs.push(Attr::parse(attr)?);
        for id in ids.chunks_exact(8) {
            self.event_of_id.insert(u64::from_le_bytes(id.try_into().ok()?), event);
        }
        Some(())
    }

    /// Pipe mode: an event's name.
    fn take_update(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let (what, id) = (cursor.u64()?, cursor.u64()?);
        if what == EVENT_UPDATE_NAME {
            let event = self.event_of_id.get(&id).copied()?;
            self.name_event(event, text(cursor.rest()));
        }
        Some(())
    }

    /// Pipe mode: a feature section.
    fn take_feature_record(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let bit = u32::try_from(cursor.u64()?).ok()?;
        if feature::USED.contains(&bit) { self.take_feature(bit, cursor.rest()) } else { Some(()) }
    }

    fn take_compressed2(&mut self, body: &[u8]) -> Option<()> {
        let size = usize::try_from(Bytes::new(body).u64()?).ok()?;
        self.take_compressed(body.get(8..)?.get(..size)?)
    }

    /// perf -z: one zstd stream over all such records; a record inside may go on in the next one.
    fn take_compressed(&mut self, body: &[u8]) -> Option<()> {
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let mut input = InBuffer::around(body);
        let mut block = vec![0_u8; BLOCK_BYTES];
        let mut total = 0;
        loop {
            let before = input.pos();
            let mut output = OutBuffer::around(&mut block);
            let done = self.decoder.as_mut()?.run(&mut input, &mut output);
            let written = output.pos();
            total += written;
            self.decompressed.push(&block[..written]);
            self.take_decompressed();
            // After an error the stream cannot go on: what follows is as lost as this block.
            if done.is_err() || total > MOST_DECOMPRESSED_BYTES {
                return None;
            }
            let stuck = written == 0 && input.pos() == before;
            if stuck || (input.pos() == body.len() && written < BLOCK_BYTES) {
                return Some(());
            }
        }
    }

    fn take_decompressed(&mut self) {
        let mut splitter = std::mem::take(&mut self.decompressed);
        loop {
            match splitter.next_record() {
                // A compressed record inside a compressed one is no work of perf's.
                Next::Record(record) if matches!(record.kind, kind::COMPRESSED | kind::COMPRESSED2) => break,
                Next::Record(record) => {
                    self.take_record(record);
                }
                Next::Incomplete => break,
                Next::Broken => {
                    self.unreadable_blocks += 1;
                    splitter = Splitter::default();
                    break;
                }
            }
        }
        self.decompressed = splitter;
    }

    fn finish(mut self) -> Capture {
        let counts = [
            (self.unreadable_samples, "samples could not be understood"),
            (self.unreadable_records, "records other than samples could not be understood"),
            (
                self.unreadable_blocks,
                "compressed blocks could not be read (damage; or -z with --switch-output, where every segment \
                 but the first goes on in the stream of the one before)",
            ),
        ];
        let told = counts.iter().filter(|(count, _)| *count > 0);
        self.capture.gaps.extend(told.map(|(count, what)| format!("{count} {what}")));
        if self.decompressed.pending() > 0 {
            self.capture.gaps.push("the last compressed block is cut off".into());
        }
        for object in self.capture.objects.iter_mut().filter(|object| object.build_id.is_empty()) {
            if let Some(id) = self.build_ids.get(&object.path) {
                object.build_id.clone_from(id);
            }
        }
        for attr in self.capture.attrs.iter_mut().filter(|attr| attr.name.is_empty()) {
            attr.name = attr.usual_name();
        }
        self.capture
    }
}

/// A part of the file, or None where the file is too short or the part too large to be true.
fn section(file: &mut File, offset: u64, size: u64) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    if size > LARGEST_SECTION_BYTES || offset.checked_add(size).is_none_or(|end| end > length) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.by_ref().take(size).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == size).then_some(bytes))
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// The chain of a sample without one: its address behind the marker that the kernel would have set.
fn lone_frame(misc: u16, ip: u64) -> [u8; 16] {
    let marker = match misc & MISC_CPUMODE {
        CPUMODE_KERNEL => KERNEL,
        CPUMODE_USER => USER,
        _ => GUEST,
    };
    let mut chain = [0; 16];
    chain[..8].copy_from_slice(&marker.to_le_bytes());
    chain[8..].copy_from_slice(&ip.to_le_bytes());
    chain
}

/// Step over the counter values of a sample.
fn skip_read(cursor: &mut Bytes<'_>, format: u64) -> Option<()> {
    const ENABLED: u64 = 1;
    const RUNNING: u64 = 2;
    const ID: u64 = 4;
    const GROUP: u64 = 8;
    const LOST: u64 = 16;
    let times = (format & ENABLED != 0) as usize + (format & RUNNING != 0) as usize;
    let per_value = 1 + (format & ID != 0) as usize + (format & LOST != 0) as usize;
    let values = if format & GROUP != 0 { usize::try_from(cursor.u64()?).ok()? } else { 1 };
    cursor.skip(values.checked_mul(per_value)?.checked_add(times)?.checked_mul(8)?)
}

/// The text in the payload of printk:console: eight common bytes, then where the text is.
fn console_text(cursor: &mut Bytes<'_>) -> Option<String> {
    let size = cursor.u32()? as usize;
    let payload = cursor.take(size)?;
    let place = Bytes::new(payload.get(8..)?).u32()?;
    let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
    // Nothing stands between, and nothing but padding behind: no other event looks like that by chance.
    let padding = payload.len().checked_sub(offset.checked_add(length)?)?;
    let line = payload.get(offset..)?.get(..length)?;
    (offset == 12 && padding < 8).then(|| text(line).trim_end_matches('\n').to_string())
}
