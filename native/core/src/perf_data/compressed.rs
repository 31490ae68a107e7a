//! Compressed records (perf -z): one zstd stream that holds further records.

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::bytes::Bytes;
use super::kind;
use super::reader::Reader;
use super::stream::{Next, Splitter};

/// All compressed records of a file may hold this much together, and more only in proportion to their size: zstd
/// makes records of perf about ten times smaller, and a stream of equal bytes 10,000 times.
const MIN_DECOMPRESSED_BYTES: u64 = 32 << 20;
const MAX_RATIO: u64 = 64;
const TOO_LARGE: &str = "the compressed records hold far more than records of perf do: read up to there";
const BLOCK_BYTES: usize = 1 << 18;

impl Reader {
    /// perf -z: one zstd stream over all such records; a record inside may go on in the next one.
    pub(super) fn take_compressed(&mut self, body: &[u8]) -> Option<()> {
        self.compressed_bytes += body.len() as u64;
        let limit = (self.compressed_bytes * MAX_RATIO).max(MIN_DECOMPRESSED_BYTES);
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let mut input = InBuffer::around(body);
        let mut block = vec![0_u8; BLOCK_BYTES];
        loop {
            if self.decompressed_bytes > limit {
                if !self.capture.gaps.iter().any(|gap| gap == TOO_LARGE) {
                    self.capture.gaps.push(TOO_LARGE.into());
                }
                return None;
            }
            let before = input.pos();
            let mut output = OutBuffer::around(&mut block);
            let done = self.decoder.as_mut()?.run(&mut input, &mut output);
            let written = output.pos();
            self.decompressed_bytes += written as u64;
            self.decompressed.push(&block[..written]);
            self.take_decompressed();
            // After an error the stream cannot go on: what follows is as lost as this block.
            if done.is_err() {
                return None;
            }
            let stuck = written == 0 && input.pos() == before;
            if stuck || (input.pos() == body.len() && written < BLOCK_BYTES) {
                return Some(());
            }
        }
    }

    pub(super) fn take_compressed2(&mut self, body: &[u8]) -> Option<()> {
        let size = usize::try_from(Bytes::new(body).u64()?).ok()?;
        self.take_compressed(body.get(8..)?.get(..size)?)
    }

    fn take_decompressed(&mut self) {
        let mut splitter = std::mem::take(&mut self.decompressed);
        loop {
            match splitter.next_record() {
                // A compressed record inside a compressed one is no work of perf's.
                Next::Record(record) if matches!(record.kind, kind::COMPRESSED | kind::COMPRESSED2) => break,
                Next::Record(record) => {
                    self.take_record(record);
                }
                Next::Incomplete => break,
                Next::Broken => {
                    self.unreadable_blocks += 1;
                    splitter = Splitter::default();
                    break;
                }
            }
        }
        self.decompressed = splitter;
    }
}
