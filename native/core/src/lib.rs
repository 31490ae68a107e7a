//! What Necroscope does once per sample, per process or per directory.
//!
//! Pure Rust: no Python, no decisions. `native/python` is its thin skin.
//!
//! A capture goes from `perf_data` (records into columns) through `resolve` (addresses into places)
//! and `symbols` (places into names) to a `profile`, which `seal` writes and `sealed` reads again;
//! `window`, `flame`, `heatmap`, `scope` and `tally` are the questions asked of it. Recorded counters go
//! from a journal (`counters`) into a `table`; `core_states` and `core_heat` say how each core spent its
//! time; `ledger` keeps account of memory cgroups.

pub mod core_heat;
pub mod core_states;
pub mod core_times;
mod counted;
pub mod counters;
mod demangle;
pub mod directories;
mod elf;
pub mod encoded;
pub mod flame;
pub mod folded;
mod hash;
pub mod heatmap;
pub mod import;
pub mod integers;
mod json;
mod kallsyms;
pub mod ledger;
pub mod merged;
pub mod names;
mod nearest;
pub mod perf_data;
mod perf_map;
pub mod perf_script;
mod plain_file;
pub mod profile;
pub mod resolve;
pub mod rooted;
pub mod scope;
#[cfg(test)]
mod scratch;
pub mod seal;
pub mod sealed;
pub mod search;
pub mod sniff;
mod symbol_file;
pub mod symbols;
pub mod table;
pub mod tally;
pub mod tasks;
mod text;
pub mod window;
