//! The feature sections behind the data: names, machine, clock.

use std::collections::HashMap;

use super::bytes::{Bytes, text};
use super::capture::{Capture, ClockData};

/// Bits of the header's feature map, `HEADER_*`.
pub mod feature {
    /// Build ids of mapped files.
    pub const BUILD_ID: u32 = 2;
    /// Host name.
    pub const HOSTNAME: u32 = 3;
    /// Kernel release.
    pub const OSRELEASE: u32 = 4;
    /// perf's version.
    pub const VERSION: u32 = 5;
    /// Number of cores.
    pub const NRCPUS: u32 = 7;
    /// Command line.
    pub const CMDLINE: u32 = 11;
    /// Events with their names and ids.
    pub const EVENT_DESC: u32 = 12;
    /// Clock and time of day.
    pub const CLOCK_DATA: u32 = 29;
    /// Those that are read.
    pub const USED: [u32; 8] =
        [BUILD_ID, HOSTNAME, OSRELEASE, VERSION, NRCPUS, CMDLINE, EVENT_DESC, CLOCK_DATA];
}

/// Names and ids of events: (name, ids).
pub type EventNames = Vec<(String, Vec<u64>)>;

/// Build ids of files, by path.
pub type BuildIds = HashMap<String, Vec<u8>>;

/// What a feature section held.
pub enum Feature {
    /// Something that now stands in the capture.
    Taken,
    /// Names of events.
    EventNames(EventNames),
    /// Build ids; they come before the mappings they belong to.
    BuildIds(BuildIds),
}

/// More than any command line or session has; a larger number is damage.
const MOST_STRINGS: usize = 1 << 16;

/// Take what one feature section says into the capture, or return it; None where it is damaged.
pub fn read_feature(bit: u32, bytes: &[u8], capture: &mut Capture) -> Option<Feature> {
    let mut cursor = Bytes::new(bytes);
    match bit {
        feature::HOSTNAME => capture.origin.hostname = string(&mut cursor)?,
        feature::OSRELEASE => capture.origin.release = string(&mut cursor)?,
        feature::VERSION => capture.origin.version = string(&mut cursor)?,
        feature::NRCPUS => {
            capture.origin.cores_available = cursor.u32()?;
            capture.origin.cores_online = cursor.u32()?;
        }
        feature::CMDLINE => {
            let count = (cursor.u32()? as usize).min(MOST_STRINGS);
            capture.origin.command = (0..count).map_while(|_| string(&mut cursor)).collect();
        }
        feature::CLOCK_DATA => {
            cursor.skip(4)?; // version
            let clock_id = cursor.u32()?;
            let (wall_ns, clock_ns) = (cursor.u64()?, cursor.u64()?);
            capture.clock = Some(ClockData { clock_id, wall_ns, clock_ns });
        }
        feature::EVENT_DESC => return event_names(&mut cursor).map(Feature::EventNames),
        feature::BUILD_ID => return build_ids(&mut cursor).map(Feature::BuildIds),
        _ => {}
    }
    Some(Feature::Taken)
}

/// perf writes strings with their length before and padded with zeros.
fn string(cursor: &mut Bytes<'_>) -> Option<String> {
    let length = cursor.u32()? as usize;
    Some(text(cursor.take(length)?))
}

fn event_names(cursor: &mut Bytes<'_>) -> Option<EventNames> {
    let count = (cursor.u32()? as usize).min(MOST_STRINGS);
    let attr_bytes = cursor.u32()? as usize;
    let mut names = Vec::new();
    for _ in 0..count {
        cursor.skip(attr_bytes)?;
        let ids = cursor.u32()?;
        let name = string(cursor)?;
        let ids: Vec<u64> = (0..ids).map_while(|_| cursor.u64()).collect();
        names.push((name, ids));
    }
    Some(names)
}

/// Build ids of a file that has them in its head and not in its mapping records.
fn build_ids(cursor: &mut Bytes<'_>) -> Option<BuildIds> {
    let mut ids = BuildIds::new();
    while cursor.rest().len() > 8 {
        cursor.skip(4)?; // type
        let misc = cursor.u16()?;
        let size = usize::from(cursor.u16()?);
        let (path, id) = read_build_id(misc, cursor.take(size.checked_sub(8)?)?)?;
        ids.insert(path, id);
    }
    Some(ids)
}

/// One build id record without its head: path and id.
pub fn read_build_id(misc: u16, body: &[u8]) -> Option<(String, Vec<u8>)> {
    const ID_BYTES: usize = 20;
    const MISC_SIZE_IS_GIVEN: u16 = 1 << 15;
    let mut body = Bytes::new(body);
    body.skip(4)?; // pid
    let id = body.take(24)?; // 20 bytes and padding, of which one may be the size
    let sized = misc & MISC_SIZE_IS_GIVEN != 0;
    let length = if sized { usize::from(id[ID_BYTES]).min(ID_BYTES) } else { ID_BYTES };
    Some((text(body.rest()), id[..length].to_vec()))
}
