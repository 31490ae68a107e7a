//! What each event of a capture recorded in a sample, and in which order.

use super::bytes::Bytes;

/// One event's `perf_event_attr`, as far as reading its samples needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attr {
    /// Kind of event: hardware, software, tracepoint, ...
    pub kind: u32,
    /// Which event of that kind.
    pub config: u64,
    /// The fields that a sample has.
    pub sample_type: u64,
    /// The layout of counter values inside a sample.
    pub read_format: u64,
    /// Whether other records end with a copy of the sample's fields.
    pub sample_id_all: bool,
    /// The clock that times were taken from; `None` is perf's own (the kernel's log clock).
    pub clock_id: Option<u32>,
    /// The event's name, where the file has it.
    pub name: String,
}

/// `PERF_TYPE_TRACEPOINT`
pub const TRACEPOINT: u32 = 2;

/// More events than any session has; a larger number is a damaged file.
pub const MOST_ATTRS: u64 = 4096;

const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCK_ID: u64 = 1 << 25;

/// Bits of `sample_type`.
pub mod field {
    /// Instruction pointer.
    pub const IP: u64 = 1;
    /// Process and thread.
    pub const TID: u64 = 1 << 1;
    /// Time.
    pub const TIME: u64 = 1 << 2;
    /// Data address.
    pub const ADDR: u64 = 1 << 3;
    /// Counter values.
    pub const READ: u64 = 1 << 4;
    /// The stack.
    pub const CALLCHAIN: u64 = 1 << 5;
    /// Event id.
    pub const ID: u64 = 1 << 6;
    /// Core.
    pub const CPU: u64 = 1 << 7;
    /// Events that this sample stands for.
    pub const PERIOD: u64 = 1 << 8;
    /// Id of the opened event.
    pub const STREAM_ID: u64 = 1 << 9;
    /// Tracepoint payload.
    pub const RAW: u64 = 1 << 10;
    /// Event id, in a place that does not depend on the event.
    pub const IDENTIFIER: u64 = 1 << 16;
}

impl Attr {
    /// Parse a `perf_event_attr` of whatever version: fields behind its end are zero.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Bytes::new(bytes);
        let kind = cursor.u32()?;
        let _size = cursor.u32()?;
        let config = cursor.u64()?;
        cursor.skip(8)?; // period or frequency
        let sample_type = cursor.u64()?;
        let read_format = cursor.u64()?;
        let flags = cursor.u64()?;
        // wakeup and bp_type, config1, config2, branches, registers, stack; then the clock, since 4.1
        let clock = cursor.skip(8 + 8 + 8 + 8 + 8 + 4).and_then(|()| cursor.u32()).unwrap_or(0);
        Some(Self {
            kind,
            config,
            sample_type,
            read_format,
            sample_id_all: flags & SAMPLE_ID_ALL != 0,
            clock_id: (flags & USE_CLOCK_ID != 0).then_some(clock),
            name: String::new(),
        })
    }

    /// The event's name as perf would say it, for a file that does not: `tracepoint 214`, `cpu-clock`.
    pub fn usual_name(&self) -> String {
        const SOFTWARE: [&str; 2] = ["cpu-clock", "task-clock"];
        const HARDWARE: [&str; 2] = ["cycles", "instructions"];
        let names = match self.kind {
            0 => &HARDWARE[..],
            1 => &SOFTWARE[..],
            TRACEPOINT => return format!("tracepoint {}", self.config),
            kind => return format!("event {kind}:{:#x}", self.config),
        };
        let known = usize::try_from(self.config).ok().and_then(|config| names.get(config));
        known.map_or_else(|| format!("event {}:{:#x}", self.kind, self.config), |name| (*name).to_string())
    }

    /// Whether samples have all of these fields.
    pub fn has(&self, fields: u64) -> bool {
        self.sample_type & fields == fields
    }

    /// Where the event's id stands in a sample, in bytes from its beginning.
    pub fn id_position(&self) -> Option<usize> {
        if self.has(field::IDENTIFIER) {
            return Some(0);
        }
        if !self.has(field::ID) {
            return None;
        }
        let before = [field::IP, field::TID, field::TIME, field::ADDR];
        Some(8 * before.iter().filter(|&&bits| self.has(bits)).count())
    }

    /// A record's trailing copy of sample fields: its size, and where the id stands from its end.
    pub fn trailer(&self) -> usize {
        if !self.sample_id_all {
            return 0;
        }
        let fields = [field::TID, field::TIME, field::ID, field::STREAM_ID, field::CPU, field::IDENTIFIER];
        8 * fields.iter().filter(|&&bits| self.has(bits)).count()
    }

    /// The time in a record's trailer, which begins at the given bytes.
    pub fn trailer_time(&self, trailer: &[u8]) -> Option<u64> {
        if !self.has(field::TIME) {
            return None;
        }
        let mut cursor = Bytes::new(trailer);
        if self.has(field::TID) {
            cursor.skip(8)?;
        }
        cursor.u64()
    }
}
