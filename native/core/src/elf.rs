//! Names of functions in an ELF file, which may belong to anybody and be made to harm us.
//!
//! Nothing is mapped: whoever may write a file can cut it off, and then the kernel kills those who have it
//! mapped. Tables are read once from beginning to end, piece by piece, and not kept. What is too large, cut off
//! or makes no sense has no names.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use crate::demangle::readable;
use crate::nearest::Nearest;
use crate::symbol_file::Budget;

const MAX_SECTIONS: u64 = 1 << 16;
const MAX_SEGMENTS: u64 = 1 << 12;
const MAX_NOTE_BYTES: u64 = 1 << 16;
const MAX_NOTES: usize = 64;
/// A name before it is made readable; larger ones were seen of 50 kB.
const MAX_NAME_BYTES: u64 = 1 << 17;
/// Most names are shorter.
const USUAL_NAME_BYTES: u64 = 256;
const PIECE_BYTES: u64 = 1 << 20;

const PT_LOAD: u64 = 1;
const SHT_SYMTAB: u64 = 2;
const SHT_NOTE: u64 = 7;
const SHT_DYNSYM: u64 = 11;
const NT_GNU_BUILD_ID: u64 = 3;
/// Functions, variables, and what has no type: `STT_NOTYPE`, `OBJECT`, `FUNC`, `GNU_IFUNC`.
const SYMBOL_TYPES: [u8; 4] = [0, 1, 2, 10];
/// Of several names for one function, which is shown, as in perf: by `STB_LOCAL`, `GLOBAL` and `WEAK`.
const BINDINGS: [u8; 3] = [1, 2, 0];

/// A file whose head has been read.
pub struct Elf<'a> {
    file: &'a File,
    is_64_bit: bool,
    sections: Vec<Section>,
    loads: Vec<Load>,
}

struct Section {
    kind: u64,
    offset: u64,
    size: u64,
    link: u64,
}

/// A part of the file that is mapped when it runs.
struct Load {
    offset: u64,
    size: u64,
    address: u64,
}

impl<'a> Elf<'a> {
    /// Read the head of a little-endian file.
    pub fn read(file: &'a File) -> Option<Self> {
        let head = read(file, 0, 52)?;
        let is_64_bit = match head.get(..6)? {
            b"\x7fELF\x02\x01" => true,
            b"\x7fELF\x01\x01" => false,
            _ => return None,
        };
        let head = if is_64_bit { read(file, 0, 64)? } else { head };
        let field = |wide: (usize, usize), narrow: (usize, usize)| {
            let (at, size) = if is_64_bit { wide } else { narrow };
            number(&head, at, size)
        };
        let (segments, sections) = (field((32, 8), (28, 4))?, field((40, 8), (32, 4))?);
        let segment_bytes = field((54, 2), (42, 2))?;
        let segment_count = field((56, 2), (44, 2))?;
        let section_bytes = field((58, 2), (46, 2))?;
        let section_count = field((60, 2), (48, 2))?;
        let mut elf = Self { file, is_64_bit, sections: Vec::new(), loads: Vec::new() };
        if section_count > 0 && section_bytes == if is_64_bit { 64 } else { 40 } {
            let count = section_count.min(MAX_SECTIONS);
            let table = read(file, sections, section_bytes * count)?;
            elf.sections =
                table.chunks_exact(section_bytes as usize).filter_map(|row| elf.section(row)).collect();
        }
        if segment_count > 0 && segment_bytes == if is_64_bit { 56 } else { 32 } {
            let count = segment_count.min(MAX_SEGMENTS);
            let table = read(file, segments, segment_bytes * count)?;
            elf.loads = table.chunks_exact(segment_bytes as usize).filter_map(|row| elf.load(row)).collect();
        }
        Some(elf)
    }

    fn field(&self, row: &[u8], wide: (usize, usize), narrow: (usize, usize)) -> Option<u64> {
        let (at, size) = if self.is_64_bit { wide } else { narrow };
        number(row, at, size)
    }

    fn section(&self, row: &[u8]) -> Option<Section> {
        Some(Section {
            kind: number(row, 4, 4)?,
            offset: self.field(row, (24, 8), (16, 4))?,
            size: self.field(row, (32, 8), (20, 4))?,
            link: self.field(row, (40, 4), (24, 4))?,
        })
    }

    fn load(&self, row: &[u8]) -> Option<Load> {
        let load = Load {
            offset: self.field(row, (8, 8), (4, 4))?,
            address: self.field(row, (16, 8), (8, 4))?,
            size: self.field(row, (32, 8), (16, 4))?,
        };
        (number(row, 0, 4)? == PT_LOAD).then_some(load)
    }

    /// An offset in the file as an address in its image, by its loadable segments.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let load =
            self.loads.iter().find(|load| offset >= load.offset && offset - load.offset < load.size)?;
        Some(load.address.wrapping_add(offset - load.offset))
    }

    /// What identifies the build; None if the file does not say.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.sections.iter().filter(|section| section.kind == SHT_NOTE).take(MAX_NOTES);
        notes
            .filter(|notes| notes.size <= MAX_NOTE_BYTES)
            .filter_map(|notes| read(self.file, notes.offset, notes.size))
            .find_map(|notes| build_id_in(&notes))
    }

    /// The names of the functions that some addresses are in, by the address. A stripped file has its exported
    /// functions only.
    pub fn names_of(&self, addresses: &[u64], budget: &mut Budget) -> HashMap<u64, Rc<str>> {
        let mut names = HashMap::new();
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            let unnamed = addresses.iter().copied().filter(|address| !names.contains_key(address)).collect();
            if let Some(table) = self.sections.iter().find(|section| section.kind == kind) {
                names.extend(self.names_in(table, unnamed, budget).unwrap_or_default());
            }
        }
        names
    }

    fn names_in(
        &self,
        table: &Section,
        addresses: Vec<u64>,
        budget: &mut Budget,
    ) -> Option<Vec<(u64, Rc<str>)>> {
        let texts = self.sections.get(usize::try_from(table.link).ok()?)?;
        let found = self.nearest_symbols(table, addresses, budget)?;
        let mut known: HashMap<u32, Option<Rc<str>>> = HashMap::new();
        let mut names = Vec::new();
        for (address, start, symbols) in found.all() {
            let Some(at) = symbols.name_at(address - start, table.kind == SHT_SYMTAB) else { continue };
            let name = known.entry(at).or_insert_with(|| self.name(texts, at, budget).map(Rc::from));
            names.extend(name.clone().map(|name| (address, name)));
        }
        Some(names)
    }

    /// One pass over a table.
    fn nearest_symbols(
        &self,
        table: &Section,
        addresses: Vec<u64>,
        budget: &mut Budget,
    ) -> Option<Nearest<Symbols>> {
        let row_bytes: u64 = if self.is_64_bit { 24 } else { 16 };
        let mut nearest = Nearest::new(addresses);
        if nearest.is_empty() {
            return None;
        }
        budget.take_table(table.size)?;
        let whole = table.size - table.size % row_bytes;
        let piece_bytes = PIECE_BYTES - PIECE_BYTES % row_bytes;
        let mut at = 0;
        while at < whole {
            let piece = read(self.file, table.offset.checked_add(at)?, piece_bytes.min(whole - at))?;
            for row in piece.chunks_exact(row_bytes as usize) {
                self.take_symbol(row, &mut nearest);
            }
            at += piece.len() as u64;
        }
        Some(nearest)
    }

    fn take_symbol(&self, row: &[u8], nearest: &mut Nearest<Symbols>) -> Option<()> {
        let info = row[if self.is_64_bit { 4 } else { 12 }];
        if !SYMBOL_TYPES.contains(&(info & 0xf)) {
            return None;
        }
        let start = self.field(row, (8, 8), (4, 4))?;
        let place = nearest.place(start)?;
        let (_, symbols) = place.get_or_insert_with(|| (start, Symbols::default()));
        let is_defined = self.field(row, (6, 2), (14, 2))? != 0;
        if is_defined {
            let size = self.field(row, (16, 8), (8, 4))?;
            symbols.add(number(row, 0, 4)? as u32, size, BINDINGS.get(usize::from(info >> 4)));
        }
        None
    }

    fn name(&self, texts: &Section, at: u32, budget: &mut Budget) -> Option<String> {
        let room = texts.size.checked_sub(u64::from(at))?.min(MAX_NAME_BYTES);
        let offset = texts.offset.checked_add(u64::from(at))?;
        let until_end = |most: u64| {
            let mut bytes = read(self.file, offset, room.min(most))?;
            bytes.truncate(bytes.iter().position(|&byte| byte == 0)?);
            Some(bytes)
        };
        let bytes = until_end(USUAL_NAME_BYTES).or_else(|| until_end(MAX_NAME_BYTES))?;
        let name = readable(str::from_utf8(&bytes).ok().filter(|name| !name.is_empty())?);
        budget.take_name(&name)?;
        Some(name)
    }
}

/// The symbols that begin at one address: where their names are.
#[derive(Default)]
struct Symbols {
    /// The largest, with its size and binding.
    sized: Option<((u64, u8), u32)>,
    /// One whose size is not known.
    sizeless: Option<u32>,
}

impl Symbols {
    fn add(&mut self, name: u32, size: u64, binding: Option<&u8>) {
        let better = (size, binding.copied().unwrap_or(0));
        match self.sized {
            _ if size == 0 => self.sizeless = self.sizeless.or(Some(name)),
            Some((known, _)) if known >= better => {}
            _ => self.sized = Some((better, name)),
        }
    }

    /// The one that covers an address so far behind its beginning. One without a size does so in a full table,
    /// where the next symbol is the next function.
    fn name_at(&self, distance: u64, is_full_table: bool) -> Option<u32> {
        let covering = self.sized.filter(|((size, _), _)| distance < *size).map(|(_, name)| name);
        covering.or(self.sizeless.filter(|_| is_full_table || distance == 0))
    }
}

fn build_id_in(mut notes: &[u8]) -> Option<Vec<u8>> {
    while !notes.is_empty() {
        let (name, text) = (number(notes, 0, 4)?, number(notes, 4, 4)?);
        let begin = 12 + usize::try_from(name.next_multiple_of(4)).ok()?;
        let id = notes.get(begin..begin + usize::try_from(text).ok()?)?;
        if number(notes, 8, 4)? == NT_GNU_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return Some(id.to_vec());
        }
        notes = notes.get(begin + usize::try_from(text.next_multiple_of(4)).ok()?..)?;
    }
    None
}

/// A part of a file, or None if not all of it is there.
fn read(file: &File, offset: u64, size: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let digits = bytes.get(at..at + size)?.iter().rev();
    Some(digits.fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests;
