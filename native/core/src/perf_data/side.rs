//! The records beside the samples: mappings, names and births of tasks.

use super::bytes::{Bytes, text};
use super::capture::{Comm, Fork, Mapping, Object};
use super::kind::{self, CPUMODE_KERNEL, MISC_CPUMODE};
use super::reader::Reader;
use super::stream::Record;

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

    pub(super) fn take_comm(&mut self, record: Record<'_>) -> Option<()> {
        let time = self.time_of(record.body);
        let mut cursor = Bytes::new(record.body);
        let (pid, tid) = (cursor.u32()?, cursor.u32()?);
        let name = text(cursor.rest());
        self.capture.comms.push(Comm { time, pid, tid, name, exec: record.misc & MISC_COMM_EXEC != 0 });
        Some(())
    }

    pub(super) fn take_fork(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let (pid, parent_pid, tid, parent_tid) = (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let time = cursor.u64()?;
        self.capture.forks.push(Fork { time, pid, parent_pid, tid, parent_tid });
        Some(())
    }

    /// The time that a record other than a sample carries behind its own fields; 0 where it has none.
    fn time_of(&self, body: &[u8]) -> u64 {
        let Some(attr) = self.capture.attrs.first() else { return 0 };
        let trailer = attr.trailer();
        body.len().checked_sub(trailer).and_then(|begin| attr.trailer_time(&body[begin..])).unwrap_or(0)
    }
}
