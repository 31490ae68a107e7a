//! Records one after the other, from a file that may still be growing or end in the middle of one.

use std::io::{self, Read};

use super::bytes::Bytes;

/// The head of every record: type, flags, size with the head.
pub const HEAD_BYTES: usize = 8;
const BUFFER_BYTES: usize = 1 << 20;

/// One record: its type, its flags, and what follows the head.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// `PERF_RECORD_*`
    pub kind: u32,
    /// `PERF_RECORD_MISC_*`
    pub misc: u16,
    /// The record without its head.
    pub body: &'a [u8],
}

/// Splits bytes into records; keeps what is left of a record cut at the end for the next bytes.
#[derive(Debug, Default)]
pub struct Splitter {
    buffer: Vec<u8>,
    position: usize,
}

/// What stands next in the stream.
pub enum Next<'a> {
    /// A whole record.
    Record(Record<'a>),
    /// More bytes are needed to say.
    Incomplete,
    /// No record can begin here.
    Broken,
}

impl Splitter {
    /// Bytes that have not been handed out.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.position
    }

    /// Add bytes behind those there are.
    pub fn push(&mut self, bytes: &[u8]) {
        self.compact();
        self.buffer.extend_from_slice(bytes);
    }

    /// Read up to `limit` bytes from a file behind those there are; 0 at its end.
    pub fn fill(&mut self, file: &mut impl Read, limit: u64) -> io::Result<usize> {
        self.compact();
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let old = self.buffer.len();
        self.buffer.resize(old + wanted, 0);
        let read = loop {
            match file.read(&mut self.buffer[old..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
        read
    }

    /// The next bytes as they are, for the data that some records have behind them.
    pub fn discard(&mut self, count: usize) -> usize {
        let some = count.min(self.pending());
        self.position += some;
        some
    }

    /// The next record.
    pub fn next_record(&mut self) -> Next<'_> {
        let mut cursor = Bytes::new(&self.buffer[self.position..]);
        let (Some(kind), Some(misc), Some(size)) = (cursor.u32(), cursor.u16(), cursor.u16()) else {
            return Next::Incomplete;
        };
        let size = usize::from(size);
        if size < HEAD_BYTES {
            return Next::Broken;
        }
        if self.pending() < size {
            return Next::Incomplete;
        }
        let begin = self.position + HEAD_BYTES;
        self.position += size;
        Next::Record(Record { kind, misc, body: &self.buffer[begin..self.position] })
    }

    fn compact(&mut self) {
        if self.position > 0 {
            self.buffer.drain(..self.position);
            self.position = 0;
        }
    }
}
