//! The first line of a sample: `comm pid/tid [cpu] time: period event: rest`.

/// The time stands within this many bytes, or the line is no sample.
const LONGEST_HEAD: usize = 256;

/// What the first line of a sample says.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Head<'a> {
    /// Everything up to and with the ids, as written: equal text is an equal task.
    pub who: &'a [u8],
    /// The thread's name.
    pub comm: &'a [u8],
    /// Process; None where only the thread is given.
    pub pid: Option<u32>,
    /// Thread.
    pub tid: u32,
    /// Core; -1 where it is not given.
    pub cpu: i32,
    /// Nanoseconds.
    pub time: i64,
    /// The event; empty where it is not given.
    pub event: &'a [u8],
    /// What follows: a lone frame, the text of a tracepoint, or nothing.
    pub rest: &'a [u8],
}

/// Read the first line of a sample; None if it is none.
pub fn parse(line: &[u8]) -> Option<Head<'_>> {
    let mut begin = 0;
    // A comm may hold colons too: the first that ends a time with ids before it counts.
    while let Some(step) = line[begin..line.len().min(LONGEST_HEAD)].iter().position(|&byte| byte == b':') {
        let colon = begin + step;
        if let Some(head) = at_colon(line, colon) {
            return Some(head);
        }
        begin = colon + 1;
    }
    None
}

fn at_colon(line: &[u8], colon: usize) -> Option<Head<'_>> {
    let before = &line[..colon];
    let after = &line[colon + 1..];
    if !(before.last()?.is_ascii_digit() && matches!(after.first(), None | Some(b' '))) {
        return None;
    }
    let (left, time) = last_word(before);
    let time = nanoseconds(time)?;
    let (left, cpu) = core(left);
    let (left_of_ids, ids) = last_word(left);
    let (pid, tid) = parse_ids(ids)?;
    let (event, rest) = split_event(after);
    Some(Head { who: left, comm: left_of_ids.trim_ascii(), pid, tid, cpu, time, event, rest })
}

/// What is left of the last word, and the word.
fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_end();
    let begin = text.iter().rposition(|&byte| byte == b' ').map_or(0, |place| place + 1);
    (text[..begin].trim_ascii_end(), &text[begin..])
}

fn core(text: &[u8]) -> (&[u8], i32) {
    let (left, word) = last_word(text);
    let inside = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"));
    match inside.and_then(decimal).and_then(|cpu| i32::try_from(cpu).ok()) {
        Some(cpu) => (left, cpu),
        None => (text, -1),
    }
}

fn parse_ids(word: &[u8]) -> Option<(Option<u32>, u32)> {
    match word.iter().position(|&byte| byte == b'/') {
        Some(slash) => Some((Some(parse_id(&word[..slash])?), parse_id(&word[slash + 1..])?)),
        None => Some((None, parse_id(word)?)),
    }
}

/// An id; perf writes -1 for a task that it does not know.
fn parse_id(word: &[u8]) -> Option<u32> {
    if word == b"-1" {
        return Some(u32::MAX);
    }
    decimal(word)?.try_into().ok()
}

/// A number without a sign.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Seconds with up to nine decimals, exactly.
pub fn nanoseconds(word: &[u8]) -> Option<i64> {
    let point = word.iter().position(|&byte| byte == b'.')?;
    let decimals = &word[point + 1..];
    if decimals.len() > 9 {
        return None;
    }
    let fraction = decimal(decimals)? * 10_u64.pow(9 - decimals.len() as u32);
    let whole = decimal(&word[..point])?.checked_mul(1_000_000_000)?;
    whole.checked_add(fraction)?.try_into().ok()
}

/// The event, without its colon, and what follows; the period before it is skipped.
fn split_event(after: &[u8]) -> (&[u8], &[u8]) {
    let text = after.trim_ascii_start();
    let end = |text: &[u8]| text.iter().position(|&byte| byte == b' ').unwrap_or(text.len());
    let first = end(text);
    let period = first > 0 && text[..first].iter().all(u8::is_ascii_digit);
    let named = if period { text[first..].trim_ascii_start() } else { text };
    let word = &named[..end(named)];
    match word.strip_suffix(b":") {
        Some(event) if !event.is_empty() => (event, &named[word.len()..]),
        // No event: digits may then be a period or an address, and only a period has more behind it
        // that begins with an address.
        _ if word.starts_with(b"PERF_RECORD_") => (b"", named),
        _ if period && is_address(word) => (b"", &text[first..]),
        _ => (b"", after),
    }
}

fn is_address(word: &[u8]) -> bool {
    !word.is_empty() && word.len() <= 16 && word.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(line: &str) -> Head<'_> {
        parse(line.as_bytes()).unwrap_or_else(|| panic!("not a sample: {line}"))
    }

    #[test]
    fn the_default_fields() {
        let head = head("swapper     0 [003]  6171.341030:    1001001 cpu-clock:ppp: ");
        assert_eq!((head.comm, head.pid, head.tid, head.cpu), (&b"swapper"[..], None, 0, 3));
        assert_eq!((head.time, head.event), (6_171_341_030_000, &b"cpu-clock:ppp"[..]));
        assert!(head.rest.trim_ascii().is_empty());
    }

    #[test]
    fn other_fields() {
        let both = head("sleep  6604/6605  [000]  6171.340024123:    1001001 cycles:u: ");
        assert_eq!((both.pid, both.tid, both.time), (Some(6604), 6605, 6_171_340_024_123));
        let bare = head("sleep  6604  0.000001: cycles: ");
        assert_eq!((bare.cpu, bare.time, bare.event), (-1, 1000, &b"cycles"[..]));
        let no_event = head("sleep  6604 [000] 12.000000: ");
        assert_eq!(no_event.event, b"");
        let period_only = head("sleep  6604 [000] 12.000000:    1001001 ");
        assert_eq!(period_only.event, b"");
        let unknown = head(":-1    -1 [000] 12.000000: cycles: ");
        assert_eq!((unknown.comm, unknown.tid), (&b":-1"[..], u32::MAX));
    }

    #[test]
    fn names_with_spaces_colons_and_numbers() {
        assert_eq!(head("Web Content 12 [000] 1.500000: 1 cycles: ").comm, b"Web Content");
        assert_eq!(head("   kworker/0:1-ev 12 [000] 1.500000: 1 cycles: ").comm, b"kworker/0:1-ev");
        assert_eq!(head("a 7 [001] 12 [000] 1.500000: 1 cycles: ").comm, b"a 7 [001]");
        assert_eq!(head("x 1.5: y 12 [000] 1.500000: 1 cycles: ").comm, b"x 1.5: y");
    }

    #[test]
    fn the_text_of_a_tracepoint_and_a_lone_frame_are_the_rest() {
        let printk = head("sh  9778 [000]  6374.381412: printk:console: hello: a 12");
        assert_eq!((printk.event, printk.rest), (&b"printk:console"[..], &b" hello: a 12"[..]));
        let lone = head("cc1 9 [001] 1.401410: 1001001   cpu-clock:            ce50a3 [unknown] (/usr/x)");
        assert_eq!(lone.rest, b"            ce50a3 [unknown] (/usr/x)");
    }

    #[test]
    fn other_lines_are_no_samples() {
        for line in [
            "",
            ":",
            "\tffffffff81000000 foo::bar+0x1 (/x)",
            "sleep 1.000000: cycles:",
            "sleep x [000] 1.000000: cycles:",
            "sleep 1 [000] 1.0000000000: cycles:",
            "sleep 1 [000] 99999999999999999999.000000: cycles:",
            "sleep 99999999999 [000] 1.000000: cycles:",
            "sleep 1 [000]: cycles:",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }
}
