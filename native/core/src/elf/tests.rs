use std::fs;

use super::*;
use crate::scratch::Scratch;

/// A little-endian ELF file of one symbol table, one loadable segment from its beginning, and a build id.
struct Made {
    wide: bool,
    kind: u64,
    symbols: Vec<Row>,
    note: Vec<u8>,
}

struct Row {
    name: &'static str,
    start: u64,
    size: u64,
    kind: u8,
    is_defined: bool,
}

fn function(name: &'static str, start: u64, size: u64) -> Row {
    Row { name, start, size, kind: 2, is_defined: true }
}

const BASE: u64 = 0x40_0000;

impl Made {
    fn new(symbols: Vec<Row>) -> Self {
        let note = [&[4, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0][..], b"GNU\0", &[0xab, 0xcd, 0xef, 0]].concat();
        Self { wide: true, kind: SHT_SYMTAB, symbols, note }
    }

    fn word(&self, value: u64) -> Vec<u8> {
        value.to_le_bytes()[..if self.wide { 8 } else { 4 }].to_vec()
    }

    fn symbol(&self, row: &Row, name: u32) -> Vec<u8> {
        let shape = [row.kind, 0, u8::from(row.is_defined), 0];
        let (name, start, size) = (name.to_le_bytes(), self.word(row.start), self.word(row.size));
        let parts: [&[u8]; 4] =
            if self.wide { [&name, &shape, &start, &size] } else { [&name, &start, &size, &shape] };
        parts.concat()
    }

    fn bytes(&self) -> Vec<u8> {
        let (mut texts, mut table) = (vec![0], Vec::new());
        for row in &self.symbols {
            table.extend(self.symbol(row, texts.len() as u32));
            texts.extend_from_slice(row.name.as_bytes());
            texts.push(0);
        }
        let head: u64 = if self.wide { 64 } else { 52 };
        let segment = self.segment(0x1_0000);
        let mut places = vec![head + segment.len() as u64];
        for part in [&self.note, &texts, &table] {
            places.push((places[places.len() - 1] + part.len() as u64).next_multiple_of(8));
        }
        let mut bytes = self.head(head, places[3]);
        bytes.extend(segment);
        for (place, part) in places.iter().zip([&self.note, &texts, &table]) {
            bytes.resize(*place as usize, 0);
            bytes.extend(part);
        }
        bytes.resize(places[3] as usize, 0);
        bytes.extend(self.section(0, 0, 0, 0));
        bytes.extend(self.section(SHT_NOTE, places[0], self.note.len(), 0));
        bytes.extend(self.section(3, places[1], texts.len(), 0));
        bytes.extend(self.section(self.kind, places[2], table.len(), 2));
        bytes
    }

    fn head(&self, segments: u64, sections: u64) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes[4] = if self.wide { 2 } else { 1 };
        bytes.resize(24, 0);
        for word in [0, segments, sections] {
            bytes.extend(self.word(word));
        }
        bytes.extend([0; 6]);
        let sizes: [u16; 5] = if self.wide { [56, 1, 64, 4, 0] } else { [32, 1, 40, 4, 0] };
        bytes.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
        bytes
    }

    fn segment(&self, size: u64) -> Vec<u8> {
        let kind = 1_u32.to_le_bytes();
        let (zero, base, size) = (self.word(0), self.word(BASE), self.word(size));
        let flags: &[u8] = &[5, 0, 0, 0];
        let parts: [&[u8]; 8] = if self.wide {
            [&kind, flags, &zero, &base, &base, &size, &size, &zero]
        } else {
            [&kind, &zero, &base, &base, &size, &size, flags, &zero]
        };
        parts.concat()
    }

    fn section(&self, kind: u64, offset: u64, size: usize, link: u32) -> Vec<u8> {
        let (name, kind) = (0_u32.to_le_bytes(), (kind as u32).to_le_bytes());
        let zero = self.word(0);
        let parts: [&[u8]; 10] = [
            &name,
            &kind,
            &zero,
            &zero,
            &self.word(offset),
            &self.word(size as u64),
            &link.to_le_bytes(),
            &[0; 4],
            &zero,
            &zero,
        ];
        parts.concat()
    }

    fn file(&self, scratch: &Scratch) -> File {
        written(scratch, &self.bytes())
    }
}

fn written(scratch: &Scratch, bytes: &[u8]) -> File {
    let path = scratch.path("elf");
    fs::write(&path, bytes).unwrap();
    File::open(path).unwrap()
}

fn names(file: &File, addresses: &[u64]) -> Vec<Option<String>> {
    let Some(elf) = Elf::read(file) else { return vec![None; addresses.len()] };
    let names = elf.names_of(addresses, &mut Budget::default());
    addresses.iter().map(|address| names.get(address).map(|name| name.to_string())).collect()
}

fn shown(names: &[Option<String>]) -> Vec<&str> {
    names.iter().map(|name| name.as_deref().unwrap_or("-")).collect()
}

#[test]
fn functions_by_address_of_64_and_32_bits() {
    let scratch = Scratch::new("elf-functions");
    for wide in [true, false] {
        let mut made = Made::new(vec![
            function("later", 0x300, 0x10),
            function("first", 0x100, 0x40),
            Row { name: "section", start: 0x110, size: 0, kind: 3, is_defined: true },
            function("inner", 0x200, 0x8),
            function("outer", 0x200, 0x20),
            Row { name: "elsewhere", start: 0x310, size: 0x100, kind: 2, is_defined: false },
            function("_ZN3foo3barEv", 0x400, 0x10),
        ]);
        made.wide = wide;
        let file = made.file(&scratch);
        let addresses = [0xff, 0x100, 0x13f, 0x140, 0x207, 0x21f, 0x220, 0x30f, 0x311, 0x400];
        let expected = ["-", "first", "first", "-", "outer", "outer", "-", "later", "-", "foo::bar()"];
        assert_eq!(shown(&names(&file, &addresses)), expected);
        let elf = Elf::read(&file).unwrap();
        assert_eq!(elf.build_id().unwrap(), [0xab, 0xcd, 0xef]);
        assert_eq!(elf.address_of(0x1234), Some(BASE + 0x1234));
        assert_eq!(elf.address_of(0x1_0000), None);
    }
}

#[test]
fn of_several_names_the_global_one_comes_first_and_the_weak_one_last() {
    let scratch = Scratch::new("elf-names");
    let name = |name, kind| Row { kind, ..function(name, 0x100, 0x40) };
    let (local, global, weak) = (name("__GI_execve", 2), name("__execve", 0x12), name("execve", 0x22));
    let file = Made::new(vec![local, weak, global]).file(&scratch);
    assert_eq!(shown(&names(&file, &[0x120])), ["__execve"]);
    let file = Made::new(vec![name("execve", 0x22), name("__GI_execve", 2)]).file(&scratch);
    assert_eq!(shown(&names(&file, &[0x120])), ["__GI_execve"]);
}

#[test]
fn a_symbol_without_a_size_reaches_to_the_next_in_a_full_table_only() {
    let scratch = Scratch::new("elf-sizeless");
    let mut made = Made::new(vec![function("sizeless", 0x100, 0), function("next", 0x200, 0x10)]);
    let addresses = [0x100, 0x1ff, 0x200];
    assert_eq!(shown(&names(&made.file(&scratch), &addresses)), ["sizeless", "sizeless", "next"]);
    made.kind = SHT_DYNSYM;
    assert_eq!(shown(&names(&made.file(&scratch), &addresses)), ["sizeless", "-", "next"]);
}

#[test]
fn a_file_of_the_linker() {
    let file = File::open(std::env::current_exe().unwrap()).unwrap();
    let elf = Elf::read(&file).unwrap();
    // Every function in it, by an address inside of it.
    let table = elf.sections.iter().find(|section| section.kind == SHT_SYMTAB).unwrap();
    let rows = read(&file, table.offset, table.size).unwrap();
    let functions = rows.chunks_exact(24).filter(|row| row[4] & 0xf == 2 && number(row, 6, 2) != Some(0));
    let inside = functions.filter_map(|row| Some(number(row, 8, 8)? + number(row, 16, 8)? / 2));
    let addresses: Vec<u64> = inside.collect();
    let names = elf.names_of(&addresses, &mut Budget::default());
    assert!(addresses.len() > 1000 && addresses.iter().all(|address| names.contains_key(address)));
    assert!(names.values().any(|name| name.ends_with("a_file_of_the_linker")));
}

#[test]
fn a_file_that_is_cut_off_or_changed_anywhere_does_no_harm() {
    let scratch = Scratch::new("elf-damage");
    let bytes = Made::new(vec![function("first", 0x100, 0x40), function("second", 0x140, 0x40)]).bytes();
    for length in 0..bytes.len() {
        names(&written(&scratch, &bytes[..length]), &[0x100, u64::MAX]);
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at..(at + 4).min(bytes.len())].fill(value);
            let file = written(&scratch, &changed);
            names(&file, &[0, 0x100, 0x150, u64::MAX]);
            if let Some(elf) = Elf::read(&file) {
                elf.build_id();
                elf.address_of(u64::MAX);
            }
        }
    }
}

#[test]
fn a_file_that_is_cut_off_while_it_is_read_does_no_harm() {
    let scratch = Scratch::new("elf-truncated");
    let made = Made::new(vec![function("first", 0x100, 0x40)]);
    let file = made.file(&scratch);
    let elf = Elf::read(&file).unwrap();
    fs::OpenOptions::new().write(true).open(scratch.path("elf")).unwrap().set_len(0).unwrap();
    assert!(elf.names_of(&[0x100], &mut Budget::default()).is_empty());
    assert_eq!(elf.build_id(), None);
}

#[test]
fn tables_that_are_too_large_are_not_read() {
    let scratch = Scratch::new("elf-large");
    let made = Made::new(vec![function("first", 0x100, 0x40)]);
    let file = made.file(&scratch);
    let elf = Elf::read(&file).unwrap();
    let table = 24;
    let mut budget = Budget { table_bytes: table, name_bytes: 5, ..Budget::default() };
    assert_eq!(elf.names_of(&[0x100], &mut budget).len(), 1);
    assert_eq!((budget.table_bytes, budget.name_bytes), (0, 0));
    assert!(elf.names_of(&[0x100], &mut budget).is_empty());
    let mut budget = Budget { name_bytes: 4, ..Budget::default() };
    assert!(elf.names_of(&[0x100], &mut budget).is_empty());
    // One of a terabyte, in a file with holes.
    let mut bytes = made.bytes();
    let sections = number(&bytes, 40, 8).unwrap() as usize;
    bytes[sections + 3 * 64 + 32..][..8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let file = written(&scratch, &bytes);
    file_of(&scratch).set_len(2 << 40).unwrap();
    assert_eq!(names(&file, &[0x100]), [None]);
}

fn file_of(scratch: &Scratch) -> File {
    fs::OpenOptions::new().write(true).open(scratch.path("elf")).unwrap()
}

#[test]
fn what_is_no_elf_file_has_no_names() {
    let scratch = Scratch::new("elf-none");
    for bytes in [&b""[..], b"\x7fELF", &[0; 4096], b"#!/bin/sh\n"] {
        assert!(Elf::read(&written(&scratch, bytes)).is_none());
    }
}
