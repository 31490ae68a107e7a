//! Pipe mode: the records that stand in for the head of a file.

use super::attr::{Attr, MOST_ATTRS};
use super::bytes::{Bytes, text};
use super::features::feature;
use super::reader::Reader;

const EVENT_UPDATE_NAME: u64 = 2;

impl Reader {
    /// Pipe mode: an event's description, then its ids.
    pub(super) fn take_attr(&mut self, body: &[u8]) -> Option<()> {
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
    pub(super) fn take_update(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let (what, id) = (cursor.u64()?, cursor.u64()?);
        if what == EVENT_UPDATE_NAME {
            let event = self.event_of_id.get(&id).copied()?;
            self.name_event(event, text(cursor.rest()));
        }
        Some(())
    }

    /// Pipe mode: a feature section.
    pub(super) fn take_feature_record(&mut self, body: &[u8]) -> Option<()> {
        let mut cursor = Bytes::new(body);
        let bit = u32::try_from(cursor.u64()?).ok()?;
        if feature::USED.contains(&bit) { self.take_feature(bit, cursor.rest()) } else { Some(()) }
    }
}
