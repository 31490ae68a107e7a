//! Nothing: see `tests/perf_data.rs`.
