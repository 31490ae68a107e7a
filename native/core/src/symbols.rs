//! Places turned into names.
//!
//! Kernel symbols come from a saved kallsyms of the boot that was captured, files by their own symbol
//! tables, code made at run time by perf maps. What has no name keeps its module and offset.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolizer};

use crate::perf_data::Object;
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

/// The frame of every place.
pub fn symbolise(places: &[Place], objects: &[Object], sources: &Sources) -> Vec<Frame> {
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
    objects: &[Object],
    sources: &Sources,
    frames: &mut [Frame],
) {
    let mut by_object: HashMap<u32, (Vec<usize>, Vec<u64>)> = HashMap::new();
    for (index, place) in places.iter().enumerate() {
        if let Place::Object { object, offset } = *place {
            let entry = by_object.entry(object).or_default();
            entry.0.push(index);
            entry.1.push(offset);
            frames[index] = unnamed(&objects[object as usize].path, offset, FrameKind::User);
        }
    }
    for (object, (indices, offsets)) in by_object {
        let object = &objects[object as usize];
        let Some(path) = file_of(object, &sources.root) else { continue };
        let elf = Elf { debug_syms: false, ..Elf::new(path) };
        if let Ok(found) = symbolizer.symbolize(&Source::Elf(elf), Input::FileOffset(&offsets)) {
            for (&index, symbol) in indices.iter().zip(&found) {
                if let Some(symbol) = symbol.as_sym() {
                    frames[index] = named(&symbol.name, &object.path, FrameKind::User);
                }
            }
        }
    }
}

/// The file behind an object, if it is still the one that was mapped.
fn file_of(object: &Object, root: &Path) -> Option<PathBuf> {
    let path = root.join(object.path.strip_prefix('/')?);
    if !path.is_file() {
        return None;
    }
    if !object.build_id.is_empty() {
        let now = blazesym::helper::read_elf_build_id(&path).ok().flatten()?;
        if now.as_ref() != object.build_id.as_slice() {
            return None;
        }
    }
    Some(path)
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
    fn load(root: &Path, pid: u32) -> Option<Self> {
        let text = fs::read(root.join(format!("tmp/perf-{pid}.map"))).ok()?;
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
