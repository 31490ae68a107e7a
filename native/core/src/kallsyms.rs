//! Names of kernel functions, by a list as in /proc/kallsyms.

use std::io::{self, Read};
use std::path::Path;
use std::string::FromUtf8Error;

use crate::demangle::readable;
use crate::nearest::Nearest;
use crate::plain_file;

/// Large kernels have 25 MB of them.
const MAX_BYTES: u64 = 256 << 20;

/// The functions and variables of a kernel.
pub struct Kallsyms {
    text: String,
}

impl Kallsyms {
    /// Read a file of them.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        plain_file::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let lossy = |error: FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
        Ok(Self { text: String::from_utf8(bytes).unwrap_or_else(lossy) })
    }

    /// Where the symbol of a name begins.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.symbols().find(|symbol| symbol.1 == name).map(|(address, _)| address)
    }

    /// The names of the functions that some addresses are in, as `(address, name)`.
    pub fn names_of(&self, addresses: impl IntoIterator<Item = u64>) -> Vec<(u64, String)> {
        let mut nearest = Nearest::new(addresses);
        // Where addresses are hidden, all are zero.
        for (address, name) in self.symbols().filter(|symbol| symbol.0 != 0) {
            if let Some(place @ None) = nearest.place(address) {
                *place = Some((address, name));
            }
        }
        nearest.all().map(|(address, _, name)| (address, readable(name))).collect()
    }

    /// Addresses and names: `ffffffff81000000 T _text`, and the module behind it.
    fn symbols(&self) -> impl Iterator<Item = (u64, &str)> {
        self.text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.nth(1)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_the_function_that_begins_last_before_them() {
        let text = "0000000000000000 A fixed_percpu_data\n\nffffffff81000000 T _text\n\
                    ffffffff81000000 T _stext\nnot a line\nffffffff81000100 t do_idle\n\
                    ffffffffc0000000 t ena_intr\t[ena]\n";
        let kallsyms = Kallsyms { text: text.into() };
        assert_eq!(kallsyms.address_of("_text"), Some(0xffff_ffff_8100_0000));
        assert_eq!(kallsyms.address_of("text"), None);
        let addresses = [0xffff_ffff_c000_0010, 1, 0xffff_ffff_8100_0100, 0xffff_ffff_8100_00ff];
        let names = kallsyms.names_of(addresses);
        let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["_text", "do_idle", "ena_intr"], "in the order of addresses; 1 is in none");
    }
}
