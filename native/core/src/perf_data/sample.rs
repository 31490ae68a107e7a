//! Samples: which event each is of, its stack, and the kernel log line that it may carry.

use super::attr::{TRACEPOINT, field};
use super::bytes::{Bytes, text};
use super::capture::Line;
use super::kind::{CPUMODE_KERNEL, CPUMODE_USER, MISC_CPUMODE};
use super::reader::Reader;
use super::stacks::{GUEST, KERNEL, USER};
use super::stream::Record;

/// The most that a kernel can be built for (`NR_CPUS`); a larger number is damage.
const MOST_CORES: u32 = 8192;
/// Later than this no clock can be: the sealed profile has signed times.
const LAST_TIME: u64 = i64::MAX as u64;

impl Reader {
    pub(super) fn take_sample(&mut self, record: Record<'_>) -> Option<()> {
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
