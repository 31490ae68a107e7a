//! The sections of a file around its records: event descriptions before them, features behind.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::attr::{Attr, MOST_ATTRS};
use super::bytes::Bytes;
use super::features::{Feature, feature, read_feature};
use super::file::ReadError;
use super::reader::Reader;

const LARGEST_SECTION_BYTES: u64 = 64 << 20;

impl Reader {
    pub(super) fn read_attrs(
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

    pub(super) fn read_features(
        &mut self,
        file: &mut File,
        offset: u64,
        bitmap: [u64; 4],
    ) -> Result<(), ReadError> {
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

    pub(super) fn take_feature(&mut self, bit: u32, bytes: &[u8]) -> Option<()> {
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

    pub(super) fn name_event(&mut self, event: u16, name: String) {
        if let Some(attr) = self.capture.attrs.get_mut(usize::from(event)) {
            if name == "printk:console" {
                self.console = Some(event);
            }
            attr.name = name;
        }
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
