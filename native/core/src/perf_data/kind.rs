//! Types of records, `PERF_RECORD_*`, and the flags that say where one is from.

pub const MMAP: u32 = 1;
pub const LOST: u32 = 2;
pub const COMM: u32 = 3;
pub const THROTTLE: u32 = 5;
pub const FORK: u32 = 7;
pub const SAMPLE: u32 = 9;
pub const MMAP2: u32 = 10;
pub const LOST_SAMPLES: u32 = 13;
pub const HEADER_ATTR: u32 = 64;
pub const TRACING_DATA: u32 = 66;
pub const HEADER_BUILD_ID: u32 = 67;
pub const AUXTRACE: u32 = 71;
pub const EVENT_UPDATE: u32 = 78;
pub const HEADER_FEATURE: u32 = 80;
pub const COMPRESSED: u32 = 81;
pub const COMPRESSED2: u32 = 83;

pub const MISC_CPUMODE: u16 = 7;
pub const CPUMODE_KERNEL: u16 = 1;
pub const CPUMODE_USER: u16 = 2;
