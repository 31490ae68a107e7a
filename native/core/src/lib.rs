//! What Necroscope does once per sample, per process or per directory.
//!
//! Pure Rust: no Python, no decisions. `native/python` is its thin skin.

pub mod directories;
pub mod tasks;
