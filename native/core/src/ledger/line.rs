//! The text of a trace pipe.
//!
//! ```text
//!            mkdir-21032   [001] 23717.691209: cgroup_mkdir: root=4 id=34518371 level=1 path=/a/b
//! CPU:1 [LOST 128 EVENTS]
//! ```

/// One thing that the pipe says.
#[derive(Debug, PartialEq, Eq)]
pub enum Record<'a> {
    Made(Event<'a>),
    Removed(Event<'a>),
    Released(Event<'a>),
    /// Events that the kernel had no room for.
    Lost(u64),
    /// A line that is nothing of ours.
    Other,
}

/// What happened to one cgroup.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub struct Event<'a> {
    /// The number of the hierarchy.
    pub root: u32,
    /// As the kernel remembers it, which may be `<...>`.
    pub comm: &'a [u8],
    pub pid: u32,
    pub time_ns: u64,
    pub id: u64,
    pub path: &'a [u8],
}

const PREFIX: &[u8] = b": cgroup_";
/// A name that takes this much of a line is none: the kernel pads it to 16 bytes.
const LONGEST_NAME: usize = 24;

/// The first record, and how many bytes it took; None where the line is not complete.
pub fn next(text: &[u8]) -> Option<(Record<'_>, usize)> {
    let mut end = 0;
    loop {
        end += text[end..].iter().position(|&byte| byte == b'\n')? + 1;
        let line = &text[..end - 1];
        if let Some(lost) = parse_lost(line) {
            return Some((Record::Lost(lost), end));
        }
        if let Some(record) = parse_event(line) {
            return Some((record, end));
        }
        // A process may have line feeds in its name, so the line goes on after a short piece.
        if line.len() > LONGEST_NAME {
            return Some((Record::Other, end));
        }
    }
}

fn parse_lost(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"CPU:")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match &rest[digits..] {
        // The kernel does not know how many.
        b" [LOST EVENTS]" => Some(1),
        words => number(words.strip_prefix(b" [LOST ")?.strip_suffix(b" EVENTS]")?),
    }
}

/// The name has 15 bytes at most, which is too short to hold what is looked for.
fn parse_event<'a>(line: &'a [u8]) -> Option<Record<'a>> {
    let mut from = 0;
    loop {
        let at = from + find(&line[from..], PREFIX)?;
        let rest = &line[at + PREFIX.len()..];
        for (verb, wrap) in [
            (&b"mkdir: root="[..], Record::Made as fn(Event<'a>) -> Record<'a>),
            (b"rmdir: root=", Record::Removed),
            (b"release: root=", Record::Released),
        ] {
            if let Some(fields) = rest.strip_prefix(verb) {
                return parse_fields(&line[..at], fields).map(wrap);
            }
        }
        from = at + 1;
    }
}

fn parse_fields<'a>(head: &'a [u8], fields: &'a [u8]) -> Option<Event<'a>> {
    let path_at = find(fields, b" path=")?;
    let id_at = find(&fields[..path_at], b" id=")? + 4;
    let id_end = id_at + fields[id_at..].iter().position(|&byte| byte == b' ')?;
    // From the right, since a name may hold anything: time, perhaps flags, core, perhaps `(process)`, name-pid.
    let (head, time) = last_word(head)?;
    let (mut head, flags_or_core) = last_word(head)?;
    if !flags_or_core.starts_with(b"[") {
        (head, _) = last_word(head)?;
    }
    let (before, mut name) = (head.trim_ascii_end(), head.trim_ascii_end());
    if before.ends_with(b")") {
        name = before[..before.iter().rposition(|&byte| byte == b'(')?].trim_ascii_end();
    }
    let dash = name.iter().rposition(|&byte| byte == b'-')?;
    Some(Event {
        root: u32::try_from(number(&fields[..fields.iter().position(|&byte| byte == b' ')?])?).ok()?,
        comm: name[..dash].trim_ascii_start(),
        pid: u32::try_from(number(&name[dash + 1..])?).ok()?,
        time_ns: parse_time(time)?,
        id: number(&fields[id_at..id_end])?,
        path: &fields[path_at + 6..],
    })
}

fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let at = text.iter().rposition(|&byte| byte == b' ')?;
    Some((&text[..at], &text[at + 1..]))
}

/// `23717.691209` of CLOCK_MONOTONIC.
fn parse_time(text: &[u8]) -> Option<u64> {
    let dot = text.iter().position(|&byte| byte == b'.')?;
    let micros = &text[dot + 1..];
    (micros.len() == 6).then_some(())?;
    Some(number(&text[..dot])? * 1_000_000_000 + number(micros)? * 1_000)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        // To compare at every byte takes ten times as long.
        from += text[from..].iter().position(|byte| *byte == what[0])?;
        if text[from..].starts_with(what) {
            return Some(from);
        }
        from += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"           mkdir-21032   [001] d..1. 23717.691209";

    fn made(comm: &[u8]) -> Event<'_> {
        Event { root: 4, comm, pid: 21032, time_ns: 23_717_691_209_000, id: 34, path: b"/a b/c path=d" }
    }

    fn line(name: &str) -> Vec<u8> {
        format!("{name:>16}-21032   [001] d..1. 23717.691209: cgroup_mkdir: root=4 id=34 level=1 path=/a b/c path=d\n")
            .into_bytes()
    }

    #[test]
    fn all_three_are_told_apart() {
        for (verb, wrap) in [
            ("mkdir", Record::Made as fn(Event<'static>) -> Record<'static>),
            ("rmdir", Record::Removed),
            ("release", Record::Released),
        ] {
            let mut text = HEAD.to_vec();
            text.extend(format!(": cgroup_{verb}: root=4 id=34 level=1 path=/a b/c path=d\nmore").bytes());
            let (record, used) = next(&text).unwrap();
            assert_eq!(record, wrap(made(b"mkdir")));
            assert_eq!(used, text.len() - 4);
        }
    }

    #[test]
    fn names_of_any_bytes() {
        for name in ["<...>", "a-1 [000] b", "x\ny", "\n\n", ": cgroup_mkdir:", "(7)", "CPU:0 [LOST 9 E"] {
            let text = line(name);
            let (record, used) = next(&text).unwrap();
            assert_eq!(record, Record::Made(made(name.trim_ascii_start().as_bytes())), "{name:?}");
            assert_eq!(used, text.len());
        }
    }

    #[test]
    fn the_number_of_the_process_beside_that_of_the_thread() {
        let text =
            b"  kubelet-77  (     70) [001] d..1. 1.000001: cgroup_rmdir: root=4 id=34 level=1 path=/a\n";
        let Some((Record::Removed(event), _)) = next(text) else { panic!() };
        assert_eq!((event.comm, event.pid, event.time_ns), (&b"kubelet"[..], 77, 1_000_001_000));
    }

    #[test]
    fn flags_may_be_there_or_not() {
        let text = b"  a-77  [001] 1.000001: cgroup_rmdir: root=4 id=34 level=1 path=/a\n";
        let Some((Record::Removed(event), _)) = next(text) else { panic!() };
        assert_eq!((event.comm, event.pid, event.time_ns), (&b"a"[..], 77, 1_000_001_000));
    }

    #[test]
    fn what_was_lost_and_what_is_not_ours() {
        assert_eq!(next(b"CPU:12 [LOST 128 EVENTS]\n"), Some((Record::Lost(128), 25)));
        assert_eq!(next(b"CPU:1 [LOST EVENTS]\n"), Some((Record::Lost(1), 20)));
        let text = b"            bash-1 [001] d..1. 1.000001: cgroup_rename: root=4 id=3 level=1 path=/a\n";
        assert_eq!(next(text), Some((Record::Other, text.len())));
    }

    #[test]
    fn half_a_line_waits_for_its_end() {
        let text = line("mkdir");
        for length in 0..text.len() {
            assert_eq!(next(&text[..length]), None);
        }
    }

    #[test]
    fn damage_is_refused_and_never_fatal() {
        let text = line("mkdir");
        for at in 0..text.len() - 1 {
            for byte in [b' ', b'\n', b'9', 0xff] {
                let mut damaged = text.clone();
                damaged[at] = byte;
                next(&damaged);
            }
        }
    }
}
