//! The text of `perf script` to a profile: one pass over the lines, plain or gzip.
//!
//! Takes the default output and the common `-F` variants: a sample needs comm, tid (or pid and tid) and
//! time; core, period, event, symbol offset and module may be missing. Names were already given by perf,
//! so nothing is symbolised.
//!
//! Memory: 24 bytes a sample, every different frame, stack and task once, and one line; all of it bounded.

mod frame;
mod head;
mod header;
mod tasks;

use std::collections::HashMap;
use std::path::Path;

use frame::{Found, Frames};
pub use head::Head;
use head::decimal;
pub use header::Header;
use tasks::Tasks;

use crate::perf_data::{Line, ReadError};
use crate::profile::{Profile, Samples, StackTable};
use crate::text::Lines;

const MOST_SAMPLES: usize = 100_000_000;
const MOST_TABLE_BYTES: usize = 2 << 30;
/// Frames of a stack that are kept; others are left out.
pub const DEEPEST_STACK: usize = 16_384;
const LONGEST_LOG_LINE: usize = 4096;
/// Width of an address and the blank before it, where a sample without a stack has a lone one.
const LONE_ADDRESS: usize = 17;

pub(crate) const PERF_DATA_MAGIC: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

const EXPECTED: &str = "expected the output of `perf script`, samples such as \
    `bash 1234 [000] 12.345678: 1001001 cycles:` with comm, tid and time, each with its stack lines below; \
    `perf script --header -i perf.data > FILE` makes it";

/// What a text says besides its samples.
#[derive(Debug, Default)]
pub struct Facts {
    /// What `--header` gave; empty without it.
    pub header: Header,
    /// Kernel log lines (`printk:console`).
    pub lines: Vec<Line>,
    /// Records that the kernel had to drop; None unless the text shows such events
    /// (`--show-lost-events`).
    pub lost_records: Option<u64>,
    /// What is missing or could not be understood, in plain words.
    pub gaps: Vec<String>,
}

/// Read the text of `perf script` into a profile.
pub fn import(path: &Path) -> Result<(Profile, Facts), ReadError> {
    read(Lines::open(path)?)
}

/// Whether a line is the first of a sample.
pub fn is_sample(line: &[u8]) -> bool {
    head::parse(line).is_some()
}

fn read(mut lines: Lines<'_>) -> Result<(Profile, Facts), ReadError> {
    let mut reader = Reader::default();
    loop {
        let number = lines.number + 1;
        let Some(line) = lines.next_line() else { break };
        if number == 1 && PERF_DATA_MAGIC.iter().any(|magic| line.starts_with(magic)) {
            return Err(ReadError::Format("this is a perf.data file, not the text of `perf script`".into()));
        }
        if !reader.take(line) {
            reader.bad_lines += 1;
            reader.first_bad_line.get_or_insert(number);
        }
        if reader.samples.time.len() > MOST_SAMPLES || reader.table_bytes() > MOST_TABLE_BYTES {
            return Err(ReadError::Format(format!(
                "more than one profile can hold, at line {number}; import it in parts: \
                 `perf script --time BEGIN,END`"
            )));
        }
    }
    reader.close_sample();
    if reader.samples.time.is_empty() {
        return Err(match (lines.broken.take(), reader.first_bad_line) {
            (Some(error), _) => ReadError::Io(error),
            (None, Some(line)) => {
                ReadError::Format(format!("no sample in it (line {line} is not understood): {EXPECTED}"))
            }
            (None, None) => ReadError::Format(format!("no sample in it: {EXPECTED}")),
        });
    }
    let gaps = lines.gaps();
    Ok(reader.finish(gaps))
}

#[derive(Default)]
struct Reader {
    facts: Facts,
    samples: Samples,
    frames: Frames,
    stacks: StackTable,
    tasks: Tasks,
    events: Vec<String>,
    event_numbers: HashMap<Box<[u8]>, i32>,
    /// The stack of the open sample, innermost frame first.
    stack: Vec<u32>,
    /// Its inlined functions that wait for the frame that they are in.
    inlined: Vec<(usize, Box<[u8]>)>,
    open: bool,
    other_bytes: usize,
    bad_lines: u64,
    first_bad_line: Option<u64>,
    too_deep: u64,
    without_core: u64,
    without_event: u64,
}

impl Reader {
    /// Take in one line; false if it cannot be understood.
    fn take(&mut self, line: &[u8]) -> bool {
        match line.first() {
            Some(b'\t') if self.take_frame(line) => return true,
            Some(b'#') if self.samples.time.is_empty() && !self.open => {
                self.facts.header.read(line);
                return true;
            }
            None => {
                self.close_sample();
                return true;
            }
            _ => {}
        }
        if let Some(head) = head::parse(line) {
            self.close_sample();
            self.open_sample(&head);
            return true;
        }
        if line.trim_ascii().is_empty() {
            self.close_sample();
            return true;
        }
        line[0] == b'#' || (line[0] == b' ' && self.take_frame(line))
    }

    fn take_frame(&mut self, line: &[u8]) -> bool {
        if !self.open {
            return false;
        }
        let Some((address, text)) = frame::split(line) else { return false };
        if self.stack.len() >= DEEPEST_STACK {
            self.too_deep += 1;
            return true;
        }
        match self.frames.find(address, text) {
            Found::Frame(frame) => {
                self.name_inlined(Some(frame));
                self.stack.push(frame);
            }
            Found::Inlined => {
                self.inlined.push((self.stack.len(), text.into()));
                self.stack.push(0);
            }
        }
        true
    }

    fn name_inlined(&mut self, outer: Option<u32>) {
        for (place, text) in self.inlined.drain(..) {
            self.stack[place] = self.frames.inlined(&text, outer);
        }
    }

    fn open_sample(&mut self, head: &Head<'_>) {
        let rest = head.rest.trim_ascii();
        if head.event.starts_with(b"PERF_RECORD_") || rest.starts_with(b"PERF_RECORD_") {
            self.note_lost(rest);
            return;
        }
        let (task, new_bytes) = self.tasks.find(head);
        self.other_bytes += new_bytes;
        let event = self.event(head.event);
        self.without_core += u64::from(head.cpu < 0);
        self.without_event += u64::from(head.event.is_empty());
        self.samples.time.push(head.time);
        self.samples.cpu.push(head.cpu);
        self.samples.task.push(task as i32);
        self.samples.event.push(event);
        self.open = true;
        if head.event == b"printk:console" {
            self.note_log_line(head, rest);
        } else if let Some((_, text)) = frame::split(head.rest)
            && head.rest.trim_ascii_end().len() >= LONE_ADDRESS + text.len()
        {
            self.take_frame(head.rest);
        }
    }

    fn note_log_line(&mut self, head: &Head<'_>, text: &[u8]) {
        let text = String::from_utf8_lossy(&text[..text.len().min(LONGEST_LOG_LINE)]).into_owned();
        self.other_bytes += size_of::<Line>() + text.len();
        self.facts.lines.push(Line { time: head.time.cast_unsigned(), cpu: head.cpu.cast_unsigned(), text });
    }

    /// `PERF_RECORD_LOST lost 12`
    fn note_lost(&mut self, text: &[u8]) {
        if let Some(rest) = text.strip_prefix(b"PERF_RECORD_LOST") {
            let count = rest.split(|&byte| byte == b' ').find_map(decimal).unwrap_or(0);
            let lost = self.facts.lost_records.unwrap_or(0);
            self.facts.lost_records = Some(lost.saturating_add(count));
        }
    }

    fn event(&mut self, name: &[u8]) -> i32 {
        if let Some(&number) = self.event_numbers.get(name) {
            return number;
        }
        let number = self.events.len() as i32;
        let shown = if name.is_empty() { "unnamed".into() } else { String::from_utf8_lossy(name) };
        self.other_bytes += 2 * name.len() + size_of::<String>() * 2;
        self.events.push(shown.into_owned());
        self.event_numbers.insert(name.into(), number);
        number
    }

    fn close_sample(&mut self) {
        if !self.open {
            return;
        }
        self.name_inlined(None);
        self.stack.reverse();
        let before = self.stacks.rows().len();
        let number = self.stacks.intern(&self.stack);
        if self.stacks.rows().len() > before {
            // Kept as a row and as a key.
            self.other_bytes += 2 * (size_of_val(&self.stack[..]) + size_of::<Box<[u32]>>());
        }
        self.samples.stack.push(number as i32);
        self.stack.clear();
        self.open = false;
    }

    fn table_bytes(&self) -> usize {
        self.frames.bytes + self.other_bytes
    }

    fn finish(mut self, mut gaps: Vec<String>) -> (Profile, Facts) {
        if let Some(line) = self.first_bad_line {
            gaps.push(format!("{} lines were not understood, the first is line {line}", self.bad_lines));
        }
        if self.too_deep > 0 {
            gaps.push(format!(
                "{} frames beyond {DEEPEST_STACK} of their stack were left out",
                self.too_deep
            ));
        }
        let count = self.samples.time.len();
        for (missing, what) in [
            (self.without_core, "do not say their core (`perf script -F +cpu` does)"),
            (self.without_event, "do not say their event (`perf script -F +event` does)"),
            (
                self.tasks.without_process,
                "do not say their process, so that every thread counts as one (`perf script -F +pid` does)",
            ),
        ] {
            if missing > 0 {
                gaps.push(format!("{missing} of {count} samples {what}"));
            }
        }
        sort_by_time(&mut self.samples);
        self.facts.lines.sort_by_key(|line| line.time);
        self.facts.gaps = gaps;
        let profile = Profile {
            samples: self.samples,
            events: self.events,
            tasks: self.tasks.finish(),
            frames: self.frames.table.rows,
            stacks: self.stacks,
        };
        (profile, self.facts)
    }
}

/// Put samples in the order of time; those of the same time stay as they were.
fn sort_by_time(samples: &mut Samples) {
    if samples.time.is_sorted() {
        return;
    }
    let mut order: Vec<u32> = (0..samples.time.len() as u32).collect();
    order.sort_by_key(|&index| samples.time[index as usize]);
    samples.time = order.iter().map(|&index| samples.time[index as usize]).collect();
    for column in [&mut samples.cpu, &mut samples.task, &mut samples.event, &mut samples.stack] {
        *column = order.iter().map(|&index| column[index as usize]).collect();
    }
}

#[cfg(test)]
mod tests;
