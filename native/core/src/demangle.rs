//! Names of C++ and Rust as they are written in the source, of a bounded length.
//!
//! A name may refer to its own parts and so grow without bound: forty letters can stand for gigabytes.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// No name is longer: what is longer is cut.
pub const MAX_NAME_BYTES: usize = 4096;

const CUT: &str = "...";

/// The name as a reader knows it; what is not of C++ or Rust stays as it is.
pub fn readable(name: &str) -> String {
    of_rust(name).or_else(|| of_cpp(name)).unwrap_or_else(|| shortened(name))
}

/// A name that is too long, cut.
pub fn shortened(name: &str) -> String {
    let mut text = Bounded::default();
    let _ = text.write_str(name);
    text.text
}

fn of_rust(name: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Bounded::default();
    let written = write!(text, "{name:#}");
    text.complete(written)
}

fn of_cpp(name: &str) -> Option<String> {
    let name = Symbol::new(name).ok()?;
    let mut text = Bounded::default();
    let written = name.structured_demangle(&mut text, &DemangleOptions::default());
    text.complete(written)
}

/// A text that takes no more than it may hold.
#[derive(Default)]
struct Bounded {
    text: String,
    is_full: bool,
}

impl Bounded {
    /// The text, also if it was cut; None if there was another error.
    fn complete(self, written: fmt::Result) -> Option<String> {
        (written.is_ok() || self.is_full).then_some(self.text)
    }
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.is_full {
            return Err(fmt::Error);
        }
        let room = MAX_NAME_BYTES - self.text.len();
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.is_full = true;
        self.text.push_str(&part[..boundary(part, room)]);
        self.text.truncate(boundary(&self.text, MAX_NAME_BYTES - CUT.len()));
        self.text.push_str(CUT);
        Err(fmt::Error)
    }
}

/// The last end of a letter up to a place.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn names_as_they_are_written_in_the_source() {
        for (name, expected) in [
            ("main", "main"),
            ("", ""),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC3foo3bar", "foo::bar"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
            ),
            ("_Znonsense", "_Znonsense"),
            ("_R", "_R"),
        ] {
            assert_eq!(readable(name), expected);
        }
    }

    #[test]
    fn names_are_cut_at_a_whole_letter() {
        assert_eq!(shortened(&"a".repeat(MAX_NAME_BYTES)), "a".repeat(MAX_NAME_BYTES));
        let cut = readable(&"é".repeat(MAX_NAME_BYTES));
        assert!(cut.ends_with("é...") && cut.len() <= MAX_NAME_BYTES, "{} bytes", cut.len());
    }

    /// A pair of two pairs of two pairs: twice as long with every step.
    fn doubling(steps: usize) -> String {
        let digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars();
        let pairs = digits.take(steps).map(|digit| format!("S_IS{digit}_S{digit}_E"));
        format!("_Z1fSt4pairIiiE{}", pairs.collect::<String>())
    }

    #[test]
    fn a_name_that_stands_for_gigabytes_takes_no_time() {
        let begin = Instant::now();
        assert_eq!(
            readable(&doubling(1)),
            "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >)"
        );
        for steps in [10, 22, 30] {
            let name = readable(&doubling(steps)); // 22 steps are 235 letters for 277 MB
            assert!(name.starts_with("f(std::pair") && name.ends_with(CUT) && name.len() <= MAX_NAME_BYTES);
        }
        for parts in ["_Z1fI", "_ZN1a", "_Z1fP", "_RINvC1a1fT", "_Z1fIJ"] {
            let deep = format!("_Z1f{}", parts[2..].repeat(10_000));
            assert!(readable(&deep).len() <= MAX_NAME_BYTES);
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}
