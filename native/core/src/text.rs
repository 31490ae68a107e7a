//! Lines of a text file, plain or gzip, with a bound on what one line may take.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::plain_file;

/// A line longer than this is cut.
pub const MAX_LINE: usize = 1 << 20;

const BUFFER: usize = 1 << 18;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The lines of a file, one at a time.
pub struct Lines<'a> {
    reader: Box<dyn BufRead + 'a>,
    line: Vec<u8>,
    /// The number of the line read last, from 1.
    pub number: u64,
    /// How many lines were cut.
    pub cut: u64,
    /// Why reading ended before the end of the file, if it did.
    pub broken: Option<io::Error>,
}

impl Lines<'static> {
    /// Open a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::new(plain_file::open(path)?)
    }
}

impl<'a> Lines<'a> {
    /// Lines of anything that gives bytes.
    pub fn new(source: impl Read + 'a) -> io::Result<Self> {
        let mut plain = BufReader::with_capacity(BUFFER, source);
        let reader: Box<dyn BufRead + 'a> = if plain.fill_buf()?.starts_with(&GZIP_MAGIC) {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(plain)))
        } else {
            Box::new(plain)
        };
        Ok(Self { reader, line: Vec::new(), number: 0, cut: 0, broken: None })
    }

    /// The next line without its end, or None. What cannot be read any more ends the lines, and is kept
    /// in `broken`: half a file is worth having.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        self.line.clear();
        if let Err(error) = self.read_line() {
            self.broken = Some(error);
        }
        if self.line.is_empty() {
            return None;
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    fn read_line(&mut self) -> io::Result<()> {
        let limit = MAX_LINE as u64 + 1;
        self.reader.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if self.line.len() > MAX_LINE && !self.line.ends_with(b"\n") {
            self.line.truncate(MAX_LINE);
            self.cut += 1;
            self.reader.skip_until(b'\n')?;
        }
        Ok(())
    }

    /// What could not be read, in plain words.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if let Some(error) = &self.broken {
            gaps.push(format!("the file could not be read beyond line {}: {error}", self.number));
        }
        if self.cut > 0 {
            gaps.push(format!("{} lines longer than {MAX_LINE} bytes were cut", self.cut));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn all(bytes: &[u8]) -> (Vec<Vec<u8>>, u64, bool) {
        let mut lines = Lines::new(bytes).expect("bytes can be read");
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line() {
            seen.push(line.to_vec());
        }
        (seen, lines.cut, lines.broken.is_some())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("a vector takes everything");
        encoder.finish().expect("a vector takes everything")
    }

    #[test]
    fn lines_end_with_or_without_a_newline() {
        let expected = vec![b"a".to_vec(), b"".to_vec(), b"b".to_vec()];
        assert_eq!(all(b"a\n\r\nb"), (expected, 0, false));
        assert_eq!(all(b""), (vec![], 0, false));
    }

    #[test]
    fn gzip_reads_as_plain_and_several_members_follow_each_other() {
        let joined = [gzip(b"a\n"), gzip(b"b\n")].concat();
        assert_eq!(all(&joined).0, vec![b"a".to_vec(), b"b".to_vec()]);
    }

    #[test]
    fn a_cut_gzip_gives_its_beginning_and_says_so() {
        let whole = gzip(&b"0123456789 abc\n".repeat(100_000));
        let (lines, _, broken) = all(&whole[..whole.len() / 2]);
        assert!(broken);
        assert!(lines.len() > 1000, "{}", lines.len());
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let mut bytes = vec![b'x'; MAX_LINE + 5];
        bytes.extend(b"\nnext\n");
        let (lines, cut, _) = all(&bytes);
        assert_eq!((lines.len(), lines[0].len(), cut), (2, MAX_LINE, 1));
        assert_eq!(lines[1], b"next");
        let mut exact = vec![b'x'; MAX_LINE];
        exact.push(b'\n');
        assert_eq!((all(&exact).0[0].len(), all(&exact).1), (MAX_LINE, 0));
    }
}
