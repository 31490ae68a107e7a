//! The records beside the samples: mappings, names and births of tasks.

use super::bytes::{Bytes, text};
use super::capture::{Comm, Fork, Mapping, Object};
use super::kind::{self, CPUMODE_KERNEL, MISC_CPUMODE};
use super::reader::Reader;
use super::stream::Record;

/// What mappings, names and births of one capture may take in memory. 600 processes with 1,000 mappings each
/// take a fifth of it; a program that maps, forks or renames itself without end would take all there is.
const MAX_SIDE_BYTES: usize = 128 << 20;

const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
const MISC_MMAP_DATA: u16 = 1 << 13;

impl Reader {
    pub(super) fn take_mapping(&mut self, record: Record<'_>) -> Option<()> {
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
        let Some(object) = self.object(Object { path, build_id }) else { return Some(()) };
        let is_kernel = record.misc & MISC_CPUMODE == CPUMODE_KERNEL;
        let pid = if is_kernel { u32::MAX } else { pid };
        self.capture.mappings.push(Mapping { time, pid, start, length, offset, object });
        Some(())
    }

    /// The number of what is mapped; none if there is no room for another mapping.
    fn object(&mut self, object: Object) -> Option<u32> {
        let known = self.object_numbers.get(&object).copied();
        let texts = object.path.len() + object.build_id.len();
        let new_bytes = 2 * (size_of::<Object>() + texts); // in the list and in the table
        if !self.has_room(size_of::<Mapping>() + if known.is_none() { new_bytes } else { 0 }) {
            return None;
        }
        if known.is_some() {
            return known;
        }
        let number = self.capture.objects.len() as u32;
        self.capture.objects.push(object.clone());
        self.object_numbers.insert(object, number);
        Some(number)
    }

    /// Whether so many bytes more may be kept; counts what may not.
    fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.side_bytes + bytes <= MAX_SIDE_BYTES;
        self.side_bytes += if has_room { bytes } else { 0 };
        self.left_out += u64::from(!has_room);
        has_room
    }

    pub(super) fn take_comm(&mut self, record: Record<'_>) -> Option<()> {
        let time = self.time_of(record.body);
        let mut cursor = Bytes::new(record.body);
        let (pid, tid) = (cursor.u32()?, cursor.u32()?);
        let name = text(cursor.rest());
        if self.has_room(size_of::<Comm>() + name.len()) {
            self.capture.comms.push(Comm { time, pid, tid, name, exec: record.misc & MISC_COMM_EXEC != 0 });
        }
        Some(())
    }

    pub(super) fn take_fork(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let (pid, parent_pid, tid, parent_tid) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let time = cursor.u64()?;
        if self.has_room(size_of::<Fork>()) {
            self.capture.forks.push(Fork { time, pid, parent_pid, tid, parent_tid });
        }
        Some(())
    }

    /// The time that a record other than a sample carries behind its own fields; 0 where it has none.
    fn time_of(&self, body: &[u8]) -> u64 {
        let Some(attr) = self.capture.attrs.first() else { return 0 };
        let trailer = attr.trailer();
        body.len().checked_sub(trailer).and_then(|begin| attr.trailer_time(&body[begin..])).unwrap_or(0)
    }
}
