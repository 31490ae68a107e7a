//! Places turned into names.
//!
//! Kernel symbols come from a saved kallsyms of the boot that was captured, files by their own symbol
//! tables, code made at run time by perf maps. What has no name keeps its module and offset.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::elf::Elf;
use crate::kallsyms::Kallsyms;
use crate::perf_data::{Capture, Object};
use crate::perf_map;
use crate::profile::{FrameKind, FrameRef};
use crate::resolve::Place;
use crate::rooted::Root;
use crate::symbol_file::{Budgets, Process, open_in_process, open_map, open_program};

const MAX_MODULE_BYTES: usize = 400;

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

/// The frames of places. Their texts are kept once: any program can run at a million places of a function with
/// a long name, in a file with a long path.
pub struct Frames<'a> {
    places: &'a [Place],
    names: Vec<Option<Rc<str>>>,
    modules: Vec<String>,
}

impl Frames<'_> {
    /// All of them, in the order of the places.
    pub fn iter(&self) -> impl Iterator<Item = FrameRef<'_>> {
        self.places
            .iter()
            .zip(&self.names)
            .map(|(place, name)| {
                let (module, offset, kind) = self.unnamed(*place);
                match name {
                    Some(_) if matches!(place, Place::Anonymous { .. }) => (name, "[jit]", 0, kind),
                    Some(_) => (name, module, 0, kind),
                    None => (name, module, offset, kind),
                }
            })
            .map(|(name, module, offset, kind)| FrameRef {
                name: name.as_deref().unwrap_or_default(),
                module,
                offset,
                kind,
            })
    }

    fn unnamed(&self, place: Place) -> (&str, u64, FrameKind) {
        match place {
            Place::Kernel(address) => ("[kernel]", address, FrameKind::Kernel),
            Place::Object { object, offset } => (&self.modules[object as usize], offset, FrameKind::User),
            Place::Anonymous { .. } => ("[anon]", 0, FrameKind::Jit),
            Place::Nowhere => ("", 0, FrameKind::Unknown),
        }
    }
}

/// Find the frame of every place.
pub fn symbolise<'a>(
    places: &'a [Place],
    objects: &[Mapped],
    kallsyms: Option<&Kallsyms>,
    root: Option<&Path>,
) -> Frames<'a> {
    let mut names = vec![None; places.len()];
    if let Some(kallsyms) = kallsyms {
        name_kernel(kallsyms, places, &mut names);
    }
    let machine = root.and_then(|root| Some(Machine { path: root, root: Root::open(root).ok()? }));
    if let Some(machine) = machine {
        let mut budgets = Budgets::default();
        machine.name_objects(places, objects, &mut names, &mut budgets);
        machine.name_anonymous(places, &mut names, &mut budgets);
    }
    let modules = objects.iter().map(|mapped| end_of(&mapped.object.path).to_string()).collect();
    Frames { places, names, modules }
}

/// The end of a path, which names the file; a path may have 4 kB, and is kept with every place without a name.
fn end_of(path: &str) -> &str {
    let mut begin = path.len().saturating_sub(MAX_MODULE_BYTES);
    while !path.is_char_boundary(begin) {
        begin += 1;
    }
    &path[begin..]
}

fn name_kernel(kallsyms: &Kallsyms, places: &[Place], names: &mut [Option<Rc<str>>]) {
    let address_of = |place: &Place| if let Place::Kernel(address) = *place { Some(address) } else { None };
    let found: HashMap<u64, Rc<str>> = kallsyms
        .names_of(places.iter().filter_map(address_of))
        .into_iter()
        .map(|(address, name)| (address, name.into()))
        .collect();
    for (place, name) in places.iter().zip(names) {
        *name = address_of(place).and_then(|address| found.get(&address)).cloned();
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
        names: &mut [Option<Rc<str>>],
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
            let found = self.names_in(mapped, offsets.iter().map(|(_, offset)| *offset), budgets);
            for (index, offset) in offsets {
                names[index] = found.get(&offset).cloned();
            }
        }
    }

    /// The names of the functions that some offsets in a file are in, by the offset.
    fn names_in(
        &self,
        mapped: &Mapped,
        offsets: impl Iterator<Item = u64>,
        budgets: &mut Budgets,
    ) -> HashMap<u64, Rc<str>> {
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
    fn name_anonymous(&self, places: &[Place], names: &mut [Option<Rc<str>>], budgets: &mut Budgets) {
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
            let found = perf_map::names_of(map, addresses, budget).unwrap_or_default();
            let found: HashMap<u64, Rc<str>> =
                found.into_iter().map(|(address, name)| (address, name.into())).collect();
            for (index, address) in places {
                names[index] = found.get(&address).cloned();
            }
        }
    }
}
