//! Places turned into names.
//!
//! Kernel symbols come from a saved kallsyms of the boot that was captured, files by their own symbol
//! tables, code made at run time by perf maps. What has no name keeps its module and offset.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolizer};

use crate::perf_data::{Capture, Object};
use crate::profile::{Frame, FrameKind};
use crate::resolve::Place;

/// Where symbols are looked for.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A saved kallsyms; without it kernel frames have no names.
    pub kallsyms: Option<PathBuf>,
    /// The root under which the captured machine's files are.
    pub root: PathBuf,
}

/// A file, and some processes that have it mapped.
pub struct Mapped {
    /// The file.
    pub object: Object,
    /// The processes; a few are enough.
    pub pids: Vec<u32>,
}

impl Mapped {
    /// The objects of a capture.
    pub fn of(capture: &Capture) -> Vec<Self> {
        const ENOUGH: usize = 4;
        let mut all: Vec<Self> =
            capture.objects.iter().map(|object| Self { object: object.clone(), pids: Vec::new() }).collect();
        for mapping in capture.mappings.iter().filter(|mapping| mapping.pid != u32::MAX) {
            let pids = &mut all[mapping.object as usize].pids;
            if pids.len() < ENOUGH && !pids.contains(&mapping.pid) {
                pids.push(mapping.pid);
            }
        }
        all
    }
}

/// The frame of every place.
pub fn symbolise(places: &[Place], objects: &[Mapped], sources: &Sources) -> Vec<Frame> {
    let mut frames = vec![nowhere(); places.len()];
    let symbolizer = Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build();
    name_kernel(&symbolizer, places, sources, &mut frames);
    name_objects(&symbolizer, places, objects, sources, &mut frames);
    name_anonymous(places, sources, &mut frames);
    frames
}

fn nowhere() -> Frame {
    Frame { name: String::new(), module: String::new(), offset: 0, kind: FrameKind::Unknown }
}

fn unnamed(module: &str, offset: u64, kind: FrameKind) -> Frame {
    Frame { name: String::new(), module: module.to_string(), offset, kind }
}

fn named(name: &str, module: &str, kind: FrameKind) -> Frame {
    Frame { name: name.to_string(), module: module.to_string(), offset: 0, kind }
}

fn name_kernel(symbolizer: &Symbolizer, places: &[Place], sources: &Sources, frames: &mut [Frame]) {
    let (indices, addresses): (Vec<usize>, Vec<u64>) = places
        .iter()
        .enumerate()
        .filter_map(
            |(index, place)| if let Place::Kernel(address) = place { Some((index, *address)) } else { None },
        )
        .unzip();
    for (&index, &address) in indices.iter().zip(&addresses) {
        frames[index] = unnamed("[kernel]", address, FrameKind::Kernel);
    }
    let Some(kallsyms) = &sources.kallsyms else { return };
    let kernel = Kernel {
        kallsyms: MaybeDefault::Some(kallsyms.clone()),
        vmlinux: MaybeDefault::None,
        ..Kernel::default()
    };
    if let Ok(found) = symbolizer.symbolize(&Source::Kernel(kernel), Input::AbsAddr(&addresses)) {
        for (&index, symbol) in indices.iter().zip(&found) {
            if let Some(symbol) = symbol.as_sym() {
                let module = symbol.module.as_deref().map(|m| m.to_string_lossy().into_owned());
                let module = module
                    .map_or("[kernel]".to_string(), |name| format!("[{}]", name.trim_matches(['[', ']'])));
                frames[index] = named(&symbol.name, &module, FrameKind::Kernel);
            }
        }
    }
}

fn name_objects(
    symbolizer: &Symbolizer,
    places: &[Place],
    objects: &[Mapped],
    sources: &Sources,
    frames: &mut [Frame],
) {
    let mut by_object: HashMap<u32, (Vec<usize>, Vec<u64>)> = HashMap::new();
    for (index, place) in places.iter().enumerate() {
        if let Place::Object { object, offset } = *place {
            let entry = by_object.entry(object).or_default();
            entry.0.push(index);
            entry.1.push(offset);
            frames[index] = unnamed(&objects[object as usize].object.path, offset, FrameKind::User);
        }
    }
    for (object, (indices, offsets)) in by_object {
        let mapped = &objects[object as usize];
        let object = &mapped.object;
        let Some(path) = file_of(mapped, &sources.root) else { continue };
        let mut take = |path: PathBuf, input: Input<&[u64]>| {
            let elf = Elf { debug_syms: false, ..Elf::new(path) };
            let Ok(found) = symbolizer.symbolize(&Source::Elf(elf), input) else { return };
            for (&index, symbol) in indices.iter().zip(&found) {
                if let Some(symbol) = symbol.as_sym() {
                    frames[index] = named(&symbol.name, &object.path, FrameKind::User);
                }
            }
        };
        // A stripped file has its exported functions only; a separate debug file has all, and goes last.
        let debug = debug_file_of(&path, object, &sources.root);
        let addresses = debug.as_ref().and_then(|_| addresses_of(&path, &offsets));
        take(path, Input::FileOffset(&offsets));
        if let (Some(debug), Some(addresses)) = (debug, addresses) {
            take(debug, Input::VirtOffset(&addresses));
        }
    }
}

/// The file with the full symbol table of a stripped one, as distributions install it, by build id.
fn debug_file_of(path: &Path, object: &Object, root: &Path) -> Option<PathBuf> {
    let id = match object.build_id.as_slice() {
        [] => blazesym::helper::read_elf_build_id(path).ok().flatten()?.to_vec(),
        known => known.to_vec(),
    };
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = root.join(format!("usr/lib/debug/.build-id/{first:02x}/{rest}.debug"));
    debug.is_file().then_some(debug)
}

/// Offsets in a file as addresses in its image, by its loadable segments; a debug file has only those.
fn addresses_of(path: &Path, offsets: &[u64]) -> Option<Vec<u64>> {
    let mut file = File::open(path).ok()?;
    let mut head = [0; 64];
    file.read_exact(&mut head).ok()?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None; // not 64 bits, little-endian
    }
    let number = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
    };
    let table = number(&head, 32)?;
    let (entry, count) = (u16::from_le_bytes([head[54], head[55]]), u16::from_le_bytes([head[56], head[57]]));
    file.seek(SeekFrom::Start(table)).ok()?;
    let mut bytes = Vec::new();
    file.take(u64::from(entry) * u64::from(count)).read_to_end(&mut bytes).ok()?;
    let loads: Vec<(u64, u64, u64)> = bytes
        .chunks_exact(usize::from(entry).max(1))
        .filter(|segment| segment.starts_with(&[1, 0, 0, 0])) // PT_LOAD
        .filter_map(|segment| Some((number(segment, 8)?, number(segment, 32)?, number(segment, 16)?)))
        .collect();
    let address = |offset: u64| {
        let load = loads.iter().find(|(begin, size, _)| offset >= *begin && offset - begin < *size);
        load.map_or(u64::MAX, |(begin, _, address)| address.wrapping_add(offset - begin))
    };
    Some(offsets.iter().map(|&offset| address(offset)).collect())
}

/// The file behind an object, if it is still the one that was mapped.
///
/// A process in a container has another root: while it lives, its files are below /proc/PID/root.
fn file_of(mapped: &Mapped, root: &Path) -> Option<PathBuf> {
    let object = &mapped.object;
    let path = object.path.strip_prefix('/')?;
    let is_it = |file: &PathBuf| {
        let id = || blazesym::helper::read_elf_build_id(file).ok().flatten();
        file.is_file()
            && (object.build_id.is_empty()
                || id().is_some_and(|id| id.as_ref() == object.build_id.as_slice()))
    };
    let in_process = mapped.pids.iter().map(|pid| root.join(format!("proc/{pid}/root")).join(path));
    in_process.chain([root.join(path)]).find(is_it)
}

/// Whether a kallsyms file is of the boot that was captured: the kernel lies elsewhere after each.
///
/// perf notes the address of a symbol: `[kernel.kallsyms]_text`. A capture without it is believed.
pub fn is_of_this_boot(kallsyms: &Path, capture: &Capture) -> bool {
    let noted = capture.mappings.iter().filter(|mapping| mapping.pid == u32::MAX).find_map(|mapping| {
        let name = capture.objects[mapping.object as usize].path.strip_prefix("[kernel.kallsyms]")?;
        (!name.is_empty()).then_some((name, mapping.offset))
    });
    let Some((name, address)) = noted else { return true };
    let Ok(file) = File::open(kallsyms) else { return false };
    let ending = format!(" {name}");
    let mut lines = BufReader::new(file).lines().map_while(Result::ok);
    let found = lines.find(|line| line.ends_with(&ending));
    let now = found.and_then(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok());
    now == Some(address)
}

/// Code made at run time, by the maps that its makers leave in /tmp.
fn name_anonymous(places: &[Place], sources: &Sources, frames: &mut [Frame]) {
    let mut maps: HashMap<u32, Option<PerfMap>> = HashMap::new();
    for (index, place) in places.iter().enumerate() {
        if let Place::Anonymous { pid, address } = *place {
            let map = maps.entry(pid).or_insert_with(|| PerfMap::load(&sources.root, pid));
            frames[index] = match map.as_ref().and_then(|map| map.find(address)) {
                Some(name) => named(name, "[jit]", FrameKind::Jit),
                None => unnamed("[anon]", 0, FrameKind::Jit),
            };
        }
    }
}

/// `/tmp/perf-PID.map`: one function a line, start and size in hexadecimal and a name.
struct PerfMap {
    functions: Vec<(u64, u64, String)>,
}

impl PerfMap {
    /// The map of a process: in its own /tmp and under the number it has itself, while it lives.
    fn load(root: &Path, pid: u32) -> Option<Self> {
        let process = root.join(format!("proc/{pid}"));
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let own = numbers.and_then(|numbers| numbers.split_whitespace().last());
        let inside = own.map(|own| process.join(format!("root/tmp/perf-{own}.map")));
        let outside = root.join(format!("tmp/perf-{pid}.map"));
        let text = inside.into_iter().chain([outside]).find_map(|path| fs::read(path).ok())?;
        let mut functions: Vec<_> =
            String::from_utf8_lossy(&text).lines().filter_map(parse_perf_map_line).collect();
        // A later line replaces an earlier one for the same place: keep the order for equal starts.
        functions.sort_by_key(|function| function.0);
        Some(Self { functions })
    }

    fn find(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|function| function.0 <= address);
        let (start, size, name) = self.functions.get(after.checked_sub(1)?)?;
        (address - start < *size).then_some(name)
    }
}

fn parse_perf_map_line(line: &str) -> Option<(u64, u64, String)> {
    let mut words = line.splitn(3, ' ');
    let start = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    let size = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    Some((start, size, words.next()?.to_string()))
}
