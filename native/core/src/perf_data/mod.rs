//! perf.data: one pass over the records, into columns.
//!
//! Reads what perf itself refuses as well: files still being written, cut off anywhere, or left behind
//! by a killed perf (data size 0). Every whole record is used, and what is missing is said.

mod attr;
mod bytes;
mod capture;
mod compressed;
mod features;
mod file;
mod kind;
mod reader;
mod sample;
mod sections;
mod side;
mod stacks;
mod stream;
mod stream_head;

pub use attr::{Attr, TRACEPOINT};
pub use capture::{Capture, Clip, ClockData, Comm, Fork, Line, Mapping, Object, Origin, Samples};
pub use file::{ReadError, read};
pub use stacks::{KERNEL, RawStacks, USER, is_marker};
