//! Names of code that was made at run time, by the maps that its makers leave in /tmp.
//!
//! `/tmp/perf-PID.map` has one function a line: start and size in hexadecimal, and a name. Anybody can make one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use crate::demangle::shortened;
use crate::nearest::Nearest;
use crate::symbol_file::Budget;

/// Of a larger map the end is read: some makers append without end, and a later line replaces an earlier one.
const MAX_MAP_BYTES: u64 = 64 << 20;

/// The names of the functions that some addresses are in, as `(address, name)`; None if too much was read before.
pub fn names_of(mut map: File, addresses: Vec<u64>, budget: &mut Budget) -> Option<Vec<(u64, String)>> {
    let size = map.metadata().ok()?.len();
    let begin = size.saturating_sub(MAX_MAP_BYTES);
    budget.take_map(size - begin)?;
    map.seek(SeekFrom::Start(begin)).ok()?;
    let mut text = Vec::new();
    map.take(size - begin).read_to_end(&mut text).ok()?; // it may have grown
    if begin > 0 {
        text.drain(..text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())); // a part of a line
    }
    let mut nearest = Nearest::new(addresses);
    for (start, size, name) in text.split(|&byte| byte == b'\n').filter_map(parse_line) {
        if let Some(place) = nearest.place(start) {
            *place = Some((start, (size, name))); // a later line replaces an earlier one for the same place
        }
    }
    let inside = nearest.all().filter(|&(address, start, &(size, _))| address - start < size);
    let names = inside.map(|(address, _, (_, name))| {
        let name = shortened(&String::from_utf8_lossy(name));
        budget.take_name(&name).map(|()| (address, name))
    });
    Some(names.flatten().collect())
}

fn parse_line(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let digits = str::from_utf8(words.next()?).ok()?;
        u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = words.next()?;
    Some((start, size, name.strip_suffix(b"\r").unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch::Scratch;

    fn names(text: &[u8], addresses: &[u64], budget: &mut Budget) -> Option<Vec<(u64, String)>> {
        let scratch = Scratch::new("perf-map");
        let path = scratch.path("map");
        fs::write(&path, text).unwrap();
        names_of(File::open(&path).unwrap(), addresses.to_vec(), budget)
    }

    #[test]
    fn the_function_that_an_address_is_in() {
        let text =
            b"10 10 first of all\n0x30 0x8 second\n\nnonsense\n10 4 later\r\n40 ffffffffffffffff \xff\n50 1";
        let addresses = [0x8, 0x10, 0x13, 0x14, 0x37, 0x38, 0x41];
        let found = names(text, &addresses, &mut Budget::default()).unwrap();
        let found: Vec<(u64, &str)> = found.iter().map(|(address, name)| (*address, name.as_str())).collect();
        assert_eq!(found, [(0x10, "later"), (0x13, "later"), (0x37, "second"), (0x41, "\u{fffd}")]);
    }

    #[test]
    fn no_more_is_read_than_the_budget_allows() {
        let text = b"10 10 first\n30 10 second\n";
        let mut budget = Budget { map_bytes: 2 * text.len() as u64, name_bytes: 5, ..Budget::default() };
        assert_eq!(names(text, &[0x10, 0x30], &mut budget).unwrap(), [(0x10, "first".to_string())]);
        assert_eq!(names(text, &[0x10, 0x30], &mut budget).unwrap(), []);
        assert_eq!(names(text, &[0x10, 0x30], &mut budget), None);
        assert_eq!(names(&[0; 1 << 20], &[0x10], &mut Budget::default()).unwrap(), []);
    }

    #[test]
    fn of_a_large_map_the_end_is_read() {
        let scratch = Scratch::new("perf-map-large");
        let path = scratch.path("map");
        let end = b" cut\n10 10 last\n";
        fs::write(&path, b"10 10 first\n").unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(6 << 30).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, end, 6 << 30).unwrap();
        let found = names_of(File::open(&path).unwrap(), vec![0x10], &mut Budget::default()).unwrap();
        assert_eq!(found, [(0x10, "last".to_string())]);
    }
}
