//! Places turned into names.
//!
//! Kernel symbols come from a saved kallsyms of the boot that was captured, files by their own symbol
//! tables, code made at run time by perf maps. What has no name keeps its module and offset.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::elf::Elf;
use crate::kallsyms::Kallsyms;
use crate::perf_data::{Capture, Object};
use crate::perf_map;
use crate::profile::{Frame, FrameKind};
use crate::resolve::Place;
use crate::rooted::Root;
use crate::symbol_file::{Budgets, Process, open_in_process, open_map, open_program};

/// Where symbols are looked for.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A saved kallsyms; without it kernel frames have no names.
    pub kallsyms: Option<PathBuf>,
    /// The root under which the captured machine's files are; without it none of them is opened, and the
    /// functions of programs have no names.
    pub root: Option<PathBuf>,
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
pub fn symbolise(
    places: &[Place],
    objects: &[Mapped],
    kallsyms: Option<&Kallsyms>,
    root: Option<&Path>,
) -> Vec<Frame> {
    let mut frames: Vec<Frame> = places.iter().map(|place| without_name(*place, objects)).collect();
    if let Some(kallsyms) = kallsyms {
        name_kernel(kallsyms, places, &mut frames);
    }
    let machine = root.and_then(|root| Some(Machine { path: root, root: Root::open(root).ok()? }));
    if let Some(machine) = machine {
        let mut budgets = Budgets::default();
        machine.name_objects(places, objects, &mut frames, &mut budgets);
        machine.name_anonymous(places, &mut frames, &mut budgets);
    }
    frames
}

fn without_name(place: Place, objects: &[Mapped]) -> Frame {
    let unnamed =
        |module: &str, offset, kind| Frame { name: String::new(), module: module.to_string(), offset, kind };
    match place {
        Place::Kernel(address) => unnamed("[kernel]", address, FrameKind::Kernel),
        Place::Object { object, offset } => {
            unnamed(&objects[object as usize].object.path, offset, FrameKind::User)
        }
        Place::Anonymous { .. } => unnamed("[anon]", 0, FrameKind::Jit),
        Place::Nowhere => unnamed("", 0, FrameKind::Unknown),
    }
}

fn named(name: &str, module: &str, kind: FrameKind) -> Frame {
    Frame { name: name.to_string(), module: module.to_string(), offset: 0, kind }
}

fn name_kernel(kallsyms: &Kallsyms, places: &[Place], frames: &mut [Frame]) {
    let address_of = |place: &Place| if let Place::Kernel(address) = *place { Some(address) } else { None };
    let names: HashMap<u64, String> =
        kallsyms.names_of(places.iter().filter_map(address_of)).into_iter().collect();
    for (place, frame) in places.iter().zip(frames) {
        if let Some(name) = address_of(place).and_then(|address| names.get(&address)) {
            *frame = named(name, "[kernel]", FrameKind::Kernel);
        }
    }
}

/// Whether a kallsyms is of the boot that was captured: the kernel lies elsewhere after each.
///
/// perf notes the address of a symbol: `[kernel.kallsyms]_text`. A capture without it is believed.
pub fn is_of_this_boot(kallsyms: &Kallsyms, capture: &Capture) -> bool {
    let noted = capture.mappings.iter().filter(|mapping| mapping.pid == u32::MAX).find_map(|mapping| {
        let name = capture.objects[mapping.object as usize].path.strip_prefix("[kernel.kallsyms]")?;
        (!name.is_empty()).then_some((name, mapping.offset))
    });
    noted.is_none_or(|(name, address)| kallsyms.address_of(name) == Some(address))
}

/// The machine that was captured, with its processes and files.
struct Machine<'a> {
    path: &'a Path,
    root: Root,
}

impl Machine<'_> {
    fn name_objects(
        &self,
        places: &[Place],
        objects: &[Mapped],
        frames: &mut [Frame],
        budgets: &mut Budgets,
    ) {
        let mut by_object: BTreeMap<u32, Vec<(usize, u64)>> = BTreeMap::new();
        for (index, place) in places.iter().enumerate() {
            if let Place::Object { object, offset } = *place {
                by_object.entry(object).or_default().push((index, offset));
            }
        }
        for (object, offsets) in by_object {
            let mapped = &objects[object as usize];
            let names = self.names_in(mapped, offsets.iter().map(|(_, offset)| *offset), budgets);
            for (index, offset) in offsets {
                if let Some(name) = names.get(&offset) {
                    frames[index] = named(name, &mapped.object.path, FrameKind::User);
                }
            }
        }
    }

    /// The names of the functions that some offsets in a file are in, by the offset.
    fn names_in(
        &self,
        mapped: &Mapped,
        offsets: impl Iterator<Item = u64>,
        budgets: &mut Budgets,
    ) -> HashMap<u64, String> {
        let Some(file) = self.file_of(mapped) else { return HashMap::new() };
        let Some(elf) = Elf::read(&file) else { return HashMap::new() };
        let placed: Vec<(u64, u64)> =
            offsets.filter_map(|offset| Some((offset, elf.address_of(offset)?))).collect();
        let addresses: Vec<u64> = placed.iter().map(|(_, address)| *address).collect();
        // A stripped file has its exported functions only; a separate debug file has all, and goes first.
        let debug = self.debug_file_of(&elf, &mapped.object);
        let mut names = HashMap::new();
        if let Some((debug, budget)) =
            debug.as_ref().and_then(|file| Some((Elf::read(file)?, budgets.of(file)?)))
        {
            names = debug.names_of(&addresses, budget);
        }
        let unnamed: Vec<u64> = addresses.into_iter().filter(|one| !names.contains_key(one)).collect();
        if let Some(budget) = budgets.of(&file) {
            names.extend(elf.names_of(&unnamed, budget));
        }
        placed
            .into_iter()
            .filter_map(|(offset, address)| Some((offset, names.get(&address)?.clone())))
            .collect()
    }

    /// The file behind an object, if it is still the one that was mapped.
    ///
    /// A process in a container has another root: while it lives, its files are below /proc/PID/root.
    fn file_of(&self, mapped: &Mapped) -> Option<File> {
        let object = &mapped.object;
        let path = Path::new(&object.path);
        let is_it = |file: &File| {
            let id = || Elf::read(file).and_then(|elf| elf.build_id());
            object.build_id.is_empty() || id().is_some_and(|id| id == object.build_id)
        };
        let processes = mapped.pids.iter().map(|&pid| Process::of(self.path, pid));
        let in_process = processes.filter_map(|process| open_in_process(&process, path).ok());
        let on_machine = || open_program(&self.root, path).ok().filter(is_it);
        path.is_absolute().then(|| in_process.into_iter().find(is_it).or_else(on_machine)).flatten()
    }

    /// The file with the full symbol table of a stripped one, as distributions install it, by build id.
    fn debug_file_of(&self, elf: &Elf<'_>, object: &Object) -> Option<File> {
        let id = if object.build_id.is_empty() { elf.build_id()? } else { object.build_id.clone() };
        let (first, rest) = id.split_first()?;
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = format!("usr/lib/debug/.build-id/{first:02x}/{rest}.debug");
        open_program(&self.root, Path::new(&path)).ok()
    }

    /// Code made at run time, by the maps that its makers leave in /tmp.
    fn name_anonymous(&self, places: &[Place], frames: &mut [Frame], budgets: &mut Budgets) {
        let mut by_process: BTreeMap<u32, Vec<(usize, u64)>> = BTreeMap::new();
        for (index, place) in places.iter().enumerate() {
            if let Place::Anonymous { pid, address } = *place {
                by_process.entry(pid).or_default().push((index, address));
            }
        }
        for (pid, places) in by_process {
            let Some(map) = open_map(&self.root, &Process::of(self.path, pid), pid) else { continue };
            let addresses = places.iter().map(|(_, address)| *address).collect();
            let Some(budget) = budgets.of(&map) else { continue };
            let names = perf_map::names_of(map, addresses, budget).unwrap_or_default();
            let names: HashMap<u64, String> = names.into_iter().collect();
            for (index, address) in places {
                if let Some(name) = names.get(&address) {
                    frames[index] = named(name, "[jit]", FrameKind::Jit);
                }
            }
        }
    }
}
