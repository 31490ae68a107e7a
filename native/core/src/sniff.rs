//! Which kind of profile a file is, by its first bytes.

use std::io::{self, ErrorKind, Read, Seek};
use std::path::Path;

use crate::text::Lines;
use crate::{folded, perf_script, plain_file};

/// How much of a file is looked at.
const LOOKED_AT: u64 = 1 << 16;

/// A line that may be cut off at the end of what is looked at does not count, so at least this many must.
const MOST_LINES: usize = 200;

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What `perf record` writes.
    PerfData,
    /// The text of `perf script`.
    PerfScript,
    /// Folded stacks.
    Folded,
}

impl Format {
    /// Its name in commands and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::PerfData => "perf.data",
            Self::PerfScript => "perf-script",
            Self::Folded => "folded",
        }
    }
}

/// The format of a file; None if it is none of ours, or no regular file.
pub fn sniff(path: &Path) -> io::Result<Option<Format>> {
    let mut file = match plain_file::open(path) {
        Err(error) if matches!(error.kind(), ErrorKind::IsADirectory | ErrorKind::InvalidInput) => {
            return Ok(None); // a folder, a pipe, a device
        }
        opened => opened?,
    };
    let mut magic = Vec::new();
    file.by_ref().take(8).read_to_end(&mut magic)?;
    if perf_script::PERF_DATA_MAGIC.contains(&magic.as_slice()) {
        return Ok(Some(Format::PerfData));
    }
    file.rewind()?;
    Ok(of_text(Lines::new(file.take(LOOKED_AT))?))
}

fn of_text(mut lines: Lines<'_>) -> Option<Format> {
    let mut bytes = 0;
    let mut folded = true;
    let mut stacks = 0;
    let mut semicolon = false;
    let mut held: Option<Vec<u8>> = None;
    for _ in 0..MOST_LINES {
        let Some(line) = lines.next_line() else { break };
        bytes += line.len() as u64 + 1;
        if is_header(line) || perf_script::is_sample(line) {
            return Some(Format::PerfScript);
        }
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        if let Some(before) = held.replace(line.to_vec()) {
            folded &= folded::split(&before).is_some();
            stacks += 1;
        }
        semicolon |= line.contains(&b';');
    }
    // The last line may be cut off where the look ends.
    let cut = bytes >= LOOKED_AT || lines.broken.is_some();
    if let Some(last) = held
        && !(cut && stacks > 0)
    {
        folded &= folded::split(&last).is_some();
        stacks += 1;
    }
    (folded && semicolon && stacks > 0).then_some(Format::Folded)
}

/// perf's header may be longer than what is looked at: on many cores it lists an id for each.
fn is_header(line: &[u8]) -> bool {
    line.starts_with(b"# captured on ") || line.starts_with(b"# header version ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Format> {
        of_text(Lines::new(text.as_bytes()).expect("text can be read"))
    }

    #[test]
    fn text_by_its_first_lines() {
        assert_eq!(of("# ========\n# captured on    : Sun\n"), Some(Format::PerfScript));
        assert_eq!(of("\n  a b 1 [000] 1.000000: 1 cycles: \n\t10 f (/x)\n"), Some(Format::PerfScript));
        assert_eq!(of("# made by x\na;b 1\nc 2\n"), Some(Format::Folded));
        for text in ["", "\n", "hello 1\n", "a;b\n", "a;b 1\nhello\n", "int x; // 1\nreturn;\n", "\u{0}\u{1}"]
        {
            assert_eq!(of(text), None, "{text:?}");
        }
    }

    #[test]
    fn files_by_their_magic() {
        let folder = std::env::temp_dir().join(format!("necroscope-sniff-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("file");
        let sniffed = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            sniff(&path).expect("it can be read")
        };
        assert_eq!(sniffed(b"PERFILE2\0\0"), Some(Format::PerfData));
        assert_eq!(sniffed(b"2ELIFREP"), Some(Format::PerfData));
        assert_eq!(sniffed(b"PERF"), None);
        assert_eq!(sniffed(b""), None);
        assert_eq!(sniffed(&b"a;b;c 1\n".repeat(100_000)), Some(Format::Folded));
        assert_eq!(
            sniffed(format!("{};b 12\n", "a".repeat(400)).repeat(1000).as_bytes()),
            Some(Format::Folded)
        );
        assert_eq!(sniff(&folder).expect("a folder is no error"), None);
        assert!(sniff(&folder.join("absent")).is_err());
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
