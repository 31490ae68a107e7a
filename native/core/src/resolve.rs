//! Raw stacks turned into places: which object, which offset, at the time of the sample.
//!
//! Address spaces change while a capture runs (exec, fork, dlopen), so names and mappings are applied
//! in the order of time.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::hash::FastMap;
use crate::perf_data::{Capture, KERNEL, USER, is_marker};

/// How many mappings may be copied for processes that were forked and then map something of their own, about
/// 250 MB: one with 30,000 mappings may do that without end.
const MAX_COPIED: usize = 4_000_000;

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// An address in the kernel or a module of it.
    Kernel(u64),
    /// An offset in a mapped file.
    Object {
        /// Index into `Capture::objects`.
        object: u32,
        /// Bytes from the beginning of the file.
        offset: u64,
    },
    /// Memory without a file, where code made at run time lives.
    Anonymous {
        /// The process.
        pid: u32,
        /// The address.
        address: u64,
    },
    /// No mapping has it: a frame-pointer walk that went astray.
    Nowhere,
}

/// A thread under one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Task {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: Rc<str>,
    /// The main thread's name.
    pub process: Rc<str>,
}

/// The samples of a capture in the order of time, with what they refer to.
#[derive(Debug, Default)]
pub struct Resolved {
    /// Index of each sample in the capture.
    pub order: Vec<u32>,
    /// Each sample's task.
    pub task: Vec<u32>,
    /// Each sample's stack.
    pub stack: Vec<u32>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Stacks of places, outermost first.
    pub stacks: Vec<Box<[u32]>>,
    /// Places.
    pub places: Vec<Place>,
    /// Mappings that were left out, because too many had to be copied for forked processes.
    pub left_out: u64,
}

/// Resolve all stacks of a capture.
pub fn resolve(capture: &Capture) -> Resolved {
    let mut resolver = Resolver::new(capture);
    resolver.run();
    resolver.resolved
}

type Maps = BTreeMap<u64, Span>;

#[derive(Debug, Clone, Copy)]
struct Span {
    end: u64,
    /// What to add to an address to get the offset in the file.
    shift: u64,
    object: u32,
}

struct Space {
    number: u32,
    maps: Rc<Maps>,
}

struct Resolver<'a> {
    capture: &'a Capture,
    resolved: Resolved,
    comms: HashMap<u32, Rc<str>>,
    spaces: HashMap<u32, Space>,
    space_count: u32,
    copied: usize,
    task_numbers: HashMap<Task, u32>,
    /// The task of each thread at this time.
    current: FastMap<u64, u32>,
    /// The threads of a process among them.
    threads: FastMap<u32, Vec<u32>>,
    place_numbers: FastMap<Place, u32>,
    place_of: FastMap<(u32, u64), u32>,
    stack_of: FastMap<(u32, u32), u32>,
    has_user: Vec<bool>,
    anonymous: Vec<bool>,
}

/// Side records in the order of time: names before samples of the same instant.
enum Side {
    Comm(usize),
    Fork(usize),
    Mapping(usize),
}

impl<'a> Resolver<'a> {
    fn new(capture: &'a Capture) -> Self {
        let stacks = 0..capture.stacks.len() as u32;
        Self {
            capture,
            resolved: Resolved::default(),
            comms: HashMap::new(),
            spaces: HashMap::new(),
            space_count: 0,
            copied: 0,
            task_numbers: HashMap::new(),
            current: FastMap::default(),
            threads: FastMap::default(),
            place_numbers: FastMap::default(),
            place_of: FastMap::default(),
            stack_of: FastMap::default(),
            has_user: stacks.map(|number| capture.stacks.get(number).contains(&USER)).collect(),
            anonymous: capture.objects.iter().map(|object| is_anonymous(&object.path)).collect(),
        }
    }

    fn run(&mut self) {
        let capture = self.capture;
        let mut order: Vec<u32> = (0..capture.samples.len() as u32).collect();
        let time = &capture.samples.time;
        order.sort_by_key(|&index| time[index as usize]);
        let sides = self.sides();
        let mut next = 0;
        self.resolved.task.reserve(order.len());
        self.resolved.stack.reserve(order.len());
        for &index in &order {
            let now = time[index as usize];
            while next < sides.len() && sides[next].0 <= now {
                self.apply(&sides[next].1);
                next += 1;
            }
            self.take_sample(index as usize);
        }
        self.resolved.order = order;
    }

    fn sides(&self) -> Vec<(u64, Side)> {
        let capture = self.capture;
        let mut sides: Vec<(u64, Side)> = Vec::new();
        sides.extend(capture.mappings.iter().enumerate().map(|(i, m)| (m.time, Side::Mapping(i))));
        sides.extend(capture.forks.iter().enumerate().map(|(i, f)| (f.time, Side::Fork(i))));
        sides.extend(capture.comms.iter().enumerate().map(|(i, c)| (c.time, Side::Comm(i))));
        // An exec is a name first and its mappings after, all at nearly the same time.
        let rank = |side: &Side| match side {
            Side::Fork(_) => 0,
            Side::Comm(_) => 1,
            Side::Mapping(_) => 2,
        };
        sides.sort_by(|a, b| match a.0.cmp(&b.0) {
            Ordering::Equal => rank(&a.1).cmp(&rank(&b.1)),
            other => other,
        });
        sides
    }

    fn apply(&mut self, side: &Side) {
        match *side {
            Side::Comm(index) => {
                let comm = &self.capture.comms[index];
                self.comms.insert(comm.tid, Rc::from(comm.name.as_str()));
                self.forget(comm.pid, comm.tid);
                if comm.exec {
                    let number = self.new_space();
                    self.spaces.insert(comm.pid, Space { number, maps: Rc::default() });
                }
            }
            Side::Fork(index) => {
                let fork = &self.capture.forks[index];
                if let Some(name) = self.comms.get(&fork.parent_tid).cloned() {
                    self.comms.insert(fork.tid, name);
                    self.forget(fork.pid, fork.tid);
                }
                if fork.pid != fork.parent_pid {
                    let maps =
                        self.spaces.get(&fork.parent_pid).map(|s| Rc::clone(&s.maps)).unwrap_or_default();
                    let number = self.new_space();
                    self.spaces.insert(fork.pid, Space { number, maps });
                }
            }
            Side::Mapping(index) => {
                let mapping = &self.capture.mappings[index];
                if mapping.pid == u32::MAX {
                    return; // the kernel's own, which its symbol table covers
                }
                let number = self.space_of(mapping.pid);
                let Some(space) = self.spaces.get_mut(&mapping.pid) else { return };
                debug_assert_eq!(space.number, number);
                if Rc::strong_count(&space.maps) > 1 {
                    if self.copied + space.maps.len() > MAX_COPIED {
                        self.resolved.left_out += 1;
                        return;
                    }
                    self.copied += space.maps.len();
                }
                let end = mapping.start.saturating_add(mapping.length);
                let span =
                    Span { end, shift: mapping.offset.wrapping_sub(mapping.start), object: mapping.object };
                insert(Rc::make_mut(&mut space.maps), mapping.start, span);
            }
        }
    }

    /// A thread has another name from now on; that of the main thread is the name of all.
    fn forget(&mut self, pid: u32, tid: u32) {
        if pid != tid {
            self.current.remove(&key(pid, tid));
            return;
        }
        for tid in self.threads.remove(&pid).unwrap_or_default() {
            self.current.remove(&key(pid, tid));
        }
    }

    fn new_space(&mut self) -> u32 {
        self.space_count += 1;
        self.space_count
    }

    fn space_of(&mut self, pid: u32) -> u32 {
        if let Some(space) = self.spaces.get(&pid) {
            return space.number;
        }
        let number = self.new_space();
        self.spaces.insert(pid, Space { number, maps: Rc::default() });
        number
    }

    fn take_sample(&mut self, index: usize) {
        let samples = &self.capture.samples;
        let (pid, tid, raw) = (samples.pid[index], samples.tid[index], samples.stack[index]);
        let task = self.task_of(pid, tid);
        let space = if self.has_user[raw as usize] { self.space_of(pid) } else { 0 };
        let stack = match self.stack_of.get(&(space, raw)) {
            Some(&stack) => stack,
            None => self.new_stack(pid, space, raw),
        };
        self.resolved.task.push(task);
        self.resolved.stack.push(stack);
    }

    fn task_of(&mut self, pid: u32, tid: u32) -> u32 {
        if let Some(&task) = self.current.get(&key(pid, tid)) {
            return task;
        }
        let comm = self
            .name_of(tid)
            .or_else(|| self.name_of(pid))
            .unwrap_or_else(|| Rc::from(format!(":{}", tid as i32)));
        let process = self.name_of(pid).unwrap_or_else(|| Rc::clone(&comm));
        let task = Task { pid, tid, comm, process };
        let count = self.resolved.tasks.len() as u32;
        let number = *self.task_numbers.entry(task.clone()).or_insert(count);
        if number == count {
            self.resolved.tasks.push(task);
        }
        self.current.insert(key(pid, tid), number);
        self.threads.entry(pid).or_default().push(tid);
        number
    }

    fn name_of(&self, tid: u32) -> Option<Rc<str>> {
        match tid {
            0 => Some(Rc::from("swapper")),
            _ => self.comms.get(&tid).cloned(),
        }
    }

    fn new_stack(&mut self, pid: u32, space: u32, raw: u32) -> u32 {
        let capture = self.capture;
        let chain = capture.stacks.get(raw);
        let mut places = Vec::with_capacity(chain.len());
        let mut mode = 0;
        for &value in chain {
            if is_marker(value) {
                mode = value;
            } else {
                places.push(self.place(pid, space, mode, value));
            }
        }
        places.reverse();
        let number = self.resolved.stacks.len() as u32;
        self.resolved.stacks.push(places.into_boxed_slice());
        self.stack_of.insert((space, raw), number);
        number
    }

    fn place(&mut self, pid: u32, space: u32, mode: u64, address: u64) -> u32 {
        let space = match mode {
            KERNEL => 0,
            USER => space,
            _ => return self.place_number(Place::Nowhere), // a guest's, or damage
        };
        if let Some(&number) = self.place_of.get(&(space, address)) {
            return number;
        }
        let place = if mode == KERNEL { Place::Kernel(address) } else { self.user_place(pid, address) };
        let number = self.place_number(place);
        self.place_of.insert((space, address), number);
        number
    }

    fn place_number(&mut self, place: Place) -> u32 {
        let count = self.resolved.places.len() as u32;
        let number = *self.place_numbers.entry(place).or_insert(count);
        if number == count {
            self.resolved.places.push(place);
        }
        number
    }

    fn user_place(&self, pid: u32, address: u64) -> Place {
        let Some(space) = self.spaces.get(&pid) else { return Place::Nowhere };
        match space.maps.range(..=address).next_back() {
            Some((_, span)) if address < span.end => {
                if self.anonymous[span.object as usize] {
                    Place::Anonymous { pid, address }
                } else {
                    Place::Object { object: span.object, offset: address.wrapping_add(span.shift) }
                }
            }
            _ => Place::Nowhere,
        }
    }
}

fn key(pid: u32, tid: u32) -> u64 {
    u64::from(pid) << 32 | u64::from(tid)
}

fn is_anonymous(path: &str) -> bool {
    path.is_empty()
        || path == "//anon"
        || path.starts_with("[anon")
        || path == "[heap]"
        || path.starts_with("/memfd:")
        || path.starts_with("/dev/zero")
        || path.starts_with("/anon_hugepage")
        || path.starts_with("/SYSV")
        || path.starts_with("[stack")
}

/// Map a range; what it covers of older ones is gone.
fn insert(maps: &mut Maps, start: u64, span: Span) {
    let cut = maps.range_mut(..start).next_back().filter(|(_, older)| older.end > start);
    let mut beyond = cut.map(|(_, older)| std::mem::replace(older, Span { end: start, ..*older }));
    let covered: Vec<u64> = maps.range(start..span.end).map(|(&begin, _)| begin).collect();
    for begin in covered {
        beyond = maps.remove(&begin).or(beyond);
    }
    // The shift is added to addresses, so the rest of a mapping keeps it.
    if let Some(older) = beyond.filter(|older| older.end > span.end) {
        maps.insert(span.end, older);
    }
    maps.insert(start, span);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_data::{Mapping, Object};

    fn mapped(ranges: &[(u64, u64, u32)]) -> Vec<(u64, u64, u32)> {
        let mut maps = Maps::new();
        for &(start, end, object) in ranges {
            insert(&mut maps, start, Span { end, shift: 0, object });
        }
        maps.iter().map(|(&start, span)| (start, span.end, span.object)).collect()
    }

    #[test]
    fn a_new_mapping_takes_the_place_of_older_ones() {
        assert_eq!(mapped(&[(10, 20, 1), (30, 40, 2)]), [(10, 20, 1), (30, 40, 2)]);
        assert_eq!(mapped(&[(10, 40, 1), (20, 30, 2)]), [(10, 20, 1), (20, 30, 2), (30, 40, 1)]);
        assert_eq!(mapped(&[(10, 20, 1), (20, 30, 2), (15, 25, 3)]), [(10, 15, 1), (15, 25, 3), (25, 30, 2)]);
        assert_eq!(mapped(&[(10, 20, 1), (22, 30, 2), (5, 35, 3)]), [(5, 35, 3)]);
        assert_eq!(mapped(&[(10, 20, 1), (10, 15, 2)]), [(10, 15, 2), (15, 20, 1)]);
    }

    #[test]
    fn addresses_of_a_32_bit_machine_are_told_by_their_markers() {
        let mut capture = Capture::default();
        let chain = [KERNEL, 0xc010_0000, USER, 0x0804_9123].map(u64::to_le_bytes).concat();
        let stack = capture.stacks.intern(&chain);
        capture.objects.push(Object { path: "/bin/hog".into(), build_id: Vec::new() });
        let mapping = Mapping { time: 0, pid: 7, start: 0x0804_8000, length: 0x2000, offset: 0, object: 0 };
        capture.mappings.push(mapping);
        let samples = &mut capture.samples;
        samples.time.push(1);
        samples.cpu.push(0);
        samples.pid.push(7);
        samples.tid.push(7);
        samples.event.push(0);
        samples.stack.push(stack);
        let resolved = resolve(&capture);
        let places: Vec<Place> =
            resolved.stacks[0].iter().map(|&place| resolved.places[place as usize]).collect();
        assert_eq!(places, [Place::Object { object: 0, offset: 0x1123 }, Place::Kernel(0xc010_0000)]);
    }
}
