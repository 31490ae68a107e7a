//! Compressed records (perf -z): one zstd stream that holds further records.

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::bytes::Bytes;
use super::kind;
use super::reader::Reader;
use super::stream::{Next, Splitter};

/// A compressed record of 64 KiB that claims to hold more than this is damaged.
const MOST_DECOMPRESSED_BYTES: usize = 64 << 20;
const BLOCK_BYTES: usize = 1 << 18;

impl Reader {
    /// perf -z: one zstd stream over all such records; a record inside may go on in the next one.
    pub(super) fn take_compressed(&mut self, body: &[u8]) -> Option<()> {
        if self.decoder.is_none() {
            self.decoder = Decoder::new().ok();
        }
        let mut input = InBuffer::around(body);
        let mut block = vec![0_u8; BLOCK_BYTES];
        let mut total = 0;
        loop {
            let before = input.pos();
            let mut output = OutBuffer::around(&mut block);
            let done = self.decoder.as_mut()?.run(&mut input, &mut output);
            let written = output.pos();
            total += written;
            self.decompressed.push(&block[..written]);
            self.take_decompressed();
            // After an error the stream cannot go on: what follows is as lost as this block.
            if done.is_err() || total > MOST_DECOMPRESSED_BYTES {
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
