//! The pass over the records: what it keeps, which record goes where, and what is said at its end.

use std::collections::HashMap;
use std::fs::File;

use zstd::stream::raw::Decoder;

use super::bytes::Bytes;
use super::capture::{Capture, Object};
use super::features::{BuildIds, read_build_id};
use super::file::ReadError;
use super::kind;
use super::stream::{Next, Record, Splitter};

#[derive(Default)]
pub(super) struct Reader {
    pub(super) capture: Capture,
    pub(super) event_of_id: HashMap<u64, u16>,
    pub(super) object_numbers: HashMap<Object, u32>,
    /// From the file's head or the end of a stream; mapping records may have their own.
    pub(super) build_ids: BuildIds,
    pub(super) decoder: Option<Decoder<'static>>,
    pub(super) decompressed: Splitter,
    pub(super) compressed_bytes: u64,
    pub(super) decompressed_bytes: u64,
    /// What mappings, names and births take, and how many there was no room for.
    pub(super) side_bytes: usize,
    pub(super) left_out: u64,
    pub(super) console: Option<u16>,
    unreadable_samples: u64,
    unreadable_records: u64,
    pub(super) unreadable_blocks: u64,
}

/// What must happen after a record, before the next can be read.
pub(super) enum Then {
    GoOn,
    /// So many bytes of data follow the record.
    Skip(u64),
}

impl Reader {
    pub(super) fn read_records(&mut self, file: &mut File, length: u64) -> Result<(), ReadError> {
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

    pub(super) fn take_record(&mut self, record: Record<'_>) -> Then {
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

    pub(super) fn finish(mut self) -> Capture {
        let counts = [
            (self.unreadable_samples, "samples could not be understood"),
            (self.unreadable_records, "records other than samples could not be understood"),
            (
                self.left_out,
                "mappings, names and births of processes are more than fit in memory: some functions and \
                 threads have no names",
            ),
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

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}
