//! Folded stacks, `comm;outer;inner 12`, to a profile.
//!
//! They have no times, cores or thread ids: every sample is at time 0, on core -1, of thread -1.

use std::collections::HashMap;
use std::path::Path;

use crate::perf_data::ReadError;
use crate::perf_script::DEEPEST_STACK;
use crate::profile::{Frame, FrameKind, FrameTable, Profile, StackTable, Task};
use crate::text::Lines;

/// A profile holds one row a sample, so that huge counts have to be scaled down first.
pub const MOST_SAMPLES: u64 = 5_000_000;

const EXPECTED: &str = "expected folded stacks, one a line: frames from the outermost to the innermost with \
    semicolons between them, a blank and a count, as `stackcollapse-perf.pl --all` writes them";

/// Read folded stacks into a profile; what is missing comes along in plain words.
pub fn import(path: &Path) -> Result<(Profile, Vec<String>), ReadError> {
    read(Lines::open(path)?)
}

/// The stack and the count of a line; None if it is no folded stack.
pub fn split(line: &[u8]) -> Option<(&[u8], u64)> {
    let line = line.trim_ascii_end();
    let blank = line.iter().rposition(|&byte| byte == b' ')?;
    let count = std::str::from_utf8(&line[blank + 1..]).ok()?;
    let digits = count.bytes().all(|byte| byte.is_ascii_digit());
    let stack = line[..blank].trim_ascii_end();
    let begins = stack.first().is_some_and(|&byte| !byte.is_ascii_whitespace() && byte != b';');
    if !(digits && begins) {
        return None;
    }
    Some((stack, count.parse().ok()?))
}

fn read(mut lines: Lines<'_>) -> Result<(Profile, Vec<String>), ReadError> {
    let mut reader = Reader::default();
    loop {
        let number = lines.number + 1;
        let Some(line) = lines.next_line() else { break };
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        match split(line) {
            Some((stack, count)) => reader.take(stack, count),
            None => {
                reader.bad_lines += 1;
                reader.first_bad_line.get_or_insert(number);
            }
        }
    }
    if reader.total == 0 {
        return Err(match (lines.broken.take(), reader.first_bad_line) {
            (Some(error), _) => ReadError::Io(error),
            (None, Some(line)) => {
                ReadError::Format(format!("no stack in it (line {line} is not understood): {EXPECTED}"))
            }
            (None, None) => ReadError::Format(format!("no stack in it: {EXPECTED}")),
        });
    }
    if reader.total > MOST_SAMPLES {
        return Err(too_many(reader.total));
    }
    let gaps = lines.gaps();
    Ok(reader.finish(gaps))
}

fn too_many(total: u64) -> ReadError {
    let divisor = total.div_ceil(MOST_SAMPLES);
    ReadError::Format(format!(
        "the counts add up to {total}, and a profile of folded stacks holds {MOST_SAMPLES} samples; divide \
         them first (counts below {divisor} are then lost): \
         awk '{{ n = int($NF / {divisor}); sub(/ [0-9]+$/, \"\"); if (n) print $0, n }}' FILE"
    ))
}

#[derive(Default)]
struct Reader {
    profile: Profile,
    frames: FrameTable,
    stacks: StackTable,
    tasks: HashMap<String, i32>,
    row: Vec<u32>,
    total: u64,
    bad_lines: u64,
    deep_stacks: u64,
    first_bad_line: Option<u64>,
}

impl Reader {
    fn take(&mut self, text: &[u8], count: u64) {
        self.total = self.total.saturating_add(count);
        // Beyond the limit only the total is still wanted: for the hint.
        if count == 0 || self.total > MOST_SAMPLES {
            return;
        }
        let text = String::from_utf8_lossy(text);
        let mut elements = text.split(';');
        let task = self.task(elements.next().unwrap_or_default());
        self.row.clear();
        for element in elements {
            if self.row.len() == DEEPEST_STACK {
                self.deep_stacks += 1;
                break;
            }
            self.row.push(self.frames.intern(&parse_frame(element)));
        }
        let stack = self.stacks.intern(&self.row) as i32;
        let samples = &mut self.profile.samples;
        let length = samples.time.len() + count as usize;
        samples.time.resize(length, 0);
        samples.cpu.resize(length, -1);
        samples.task.resize(length, task);
        samples.event.resize(length, 0);
        samples.stack.resize(length, stack);
    }

    fn task(&mut self, comm: &str) -> i32 {
        if let Some(&number) = self.tasks.get(comm) {
            return number;
        }
        let number = self.profile.tasks.len() as i32;
        let (comm, process) = (comm.to_string(), comm.to_string());
        self.tasks.insert(comm.clone(), number);
        self.profile.tasks.push(Task { pid: u32::MAX, tid: u32::MAX, comm, process });
        number
    }

    fn finish(mut self, mut gaps: Vec<String>) -> (Profile, Vec<String>) {
        gaps.push("folded stacks have no times, cores, processes or threads: all is at time 0".to_string());
        if !self.frames.rows.iter().any(|frame| frame.kind == FrameKind::Kernel) {
            gaps.push(
                "no frame is marked as the kernel's (`_[k]`, as `stackcollapse-perf.pl --kernel` does), so \
                 that idle cores cannot be told"
                    .to_string(),
            );
        }
        if let Some(line) = self.first_bad_line {
            gaps.push(format!("{} lines were not understood, the first is line {line}", self.bad_lines));
        }
        if self.deep_stacks > 0 {
            gaps.push(format!(
                "{} stacks have more than {DEEPEST_STACK} frames and are cut",
                self.deep_stacks
            ));
        }
        self.profile.events = vec!["unnamed".to_string()];
        self.profile.frames = self.frames.rows;
        self.profile.stacks = self.stacks;
        (self.profile, gaps)
    }
}

/// A frame as stackcollapse writes it: `name`, `name_[k]`, `[module]`, `[unknown]`.
fn parse_frame(element: &str) -> Frame {
    let endings = [("_[k]", FrameKind::Kernel), ("_[j]", FrameKind::Jit), ("_[i]", FrameKind::User)];
    let ending = endings.iter().find_map(|(ending, kind)| Some((element.strip_suffix(ending)?, *kind)));
    let (name, kind) = ending.unwrap_or((element, FrameKind::User));
    let bracketed = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let unnamed =
        |module: &str, offset, kind| Frame { name: String::new(), module: module.into(), offset, kind };
    match bracketed {
        Some("unknown") if kind == FrameKind::Kernel => unnamed("[kernel]", 0, kind),
        Some("unknown") => unnamed("", 0, FrameKind::Unknown),
        Some("kernel" | "kernel.kallsyms") => unnamed("[kernel]", 0, FrameKind::Kernel),
        Some(inside) => {
            let split = inside.rsplit_once("+0x");
            let place = split.and_then(|(name, digits)| Some((name, u64::from_str_radix(digits, 16).ok()?)));
            let (module, offset) = place.unwrap_or((inside, 0));
            unnamed(module, offset, kind)
        }
        None => Frame { name: name.to_string(), ..unnamed("", 0, kind) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import_text(text: &str) -> Result<(Profile, Vec<String>), ReadError> {
        read(Lines::new(text.as_bytes()).expect("text can be read"))
    }

    #[test]
    fn counts_become_samples_and_the_first_element_the_comm() {
        let (profile, gaps) =
            import_text("java;a;b c_[k] 3\n\n# x\nsh 2\njava;a 1\nzero;a 0\n").expect("folded");
        assert_eq!(profile.samples.task, [0, 0, 0, 1, 1, 0]);
        assert_eq!(profile.samples.stack, [0, 0, 0, 1, 1, 2]);
        assert_eq!(profile.samples.time, [0; 6]);
        let comms: Vec<_> = profile.tasks.iter().map(|task| task.comm.as_str()).collect();
        assert_eq!(comms, ["java", "sh"]);
        assert_eq!((profile.frames[1].name.as_str(), profile.frames[1].kind), ("b c", FrameKind::Kernel));
        assert_eq!(gaps.len(), 1, "{gaps:?}");
    }

    #[test]
    fn labels_come_back_as_they_were() {
        let labels = ["f", "[unknown]", "[libc.so.6]", "[libc.so.6+0x12]", "[kernel]", "operator[]", "f+0x1"];
        for label in labels {
            assert_eq!(parse_frame(label).label(), label);
        }
        assert_eq!(parse_frame("f_[j]").kind, FrameKind::Jit);
        assert_eq!(parse_frame("f_[i]"), parse_frame("f"));
        assert_eq!(parse_frame("[unknown]_[k]").kind, FrameKind::Kernel);
        assert_eq!(parse_frame("[unknown]").kind, FrameKind::Unknown);
    }

    #[test]
    fn too_many_samples_are_an_error_with_a_hint() {
        let error = import_text("a;b 5000000\nc;d 5000001\n").expect_err("too many").to_string();
        assert!(error.contains("10000001") && error.contains("/ 3)"), "{error}");
        let error = import_text("a 18446744073709551615\na 18446744073709551615\n").expect_err("too many");
        assert!(error.to_string().contains("awk"), "{error}");
        assert_eq!(import_text("a;b 5000000\n").expect("just enough").0.samples.time.len(), 5_000_000);
    }

    #[test]
    fn what_is_not_folded_is_counted_or_an_error() {
        let (_, gaps) =
            import_text("a;b_[k] 1\nhello\n;x 1\na;b -1\na;b 99999999999999999999\n").expect("folded");
        assert!(gaps.contains(&"4 lines were not understood, the first is line 2".to_string()), "{gaps:?}");
        for text in ["", "hello world\n", "a;b\n", "a;b 0\n"] {
            assert!(import_text(text).expect_err("none").to_string().contains("folded stacks"), "{text}");
        }
    }
}
