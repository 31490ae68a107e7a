//! The accounts: every cgroup that was made or removed since the beginning and is not freed, and totals by group.
//!
//! Bounds, for a node that leaks without end: `MOST_ENTRIES` cgroups are remembered one by one, with
//! `MOST_PART_BYTES` of what is their own in their paths; further ones only count. With the groups and the
//! names that is less than 16 MiB. Only what was a zombie at the last snapshot can be told as freed by the next,
//! so that there are never more of these than entries.

use super::fold::{fold, unfold};
use super::interned::Interned;
use super::line::Event;
use super::who::Who;
use crate::hash::FastMap;

const MOST_ENTRIES: usize = 100_000;
const MOST_PART_BYTES: usize = 3 << 20;
/// Groups that nothing belongs to any more are kept until the list is full, and then the newest of them.
const IDLE_GROUPS_KEPT: usize = 500;
const ROOM_EVERY_NS: u64 = 60_000_000_000;
/// Stands for all patterns that found no place; the parts of a path are then all of it.
const OTHER: &[u8] = b"#";
const NOBODY: u16 = 0;

/// How much is wanted of the accounts.
pub struct Wanted {
    /// How long after its removal a cgroup that is still there is a zombie.
    pub settled_ns: u64,
    /// Those with the most zombies, then those with the most cgroups.
    pub groups: usize,
    /// The newest.
    pub leaks: usize,
}

/// The accounts at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Events that the kernel had no room for.
    pub lost: u64,
    /// Removed, not freed, and not remembered one by one.
    pub untracked: u64,
    /// Freed, and not known before.
    pub freed_older: u64,
    /// Removed and not freed.
    pub dying: u64,
    /// Of these, those that have been so for long enough.
    pub zombies: u64,
    /// Totals.
    pub groups: Vec<Group>,
    /// What became a zombie since the snapshot before.
    pub leaks: Vec<Leak>,
    /// Zombies that were freed since.
    pub freed: Vec<u64>,
}

/// Totals of one kind of cgroups.
#[derive(Debug, Clone)]
pub struct Group {
    /// The path, folded.
    pub pattern: String,
    /// Who made them.
    pub creator: Who,
    /// Who removed them; nobody, while they are in use.
    pub remover: Who,
    /// Made since the beginning.
    pub made: u64,
    /// Removed since.
    pub removed: u64,
    /// Freed since.
    pub released: u64,
    /// Removed and not freed.
    pub dying: u64,
    /// Of these, the zombies.
    pub zombies: u64,
    /// The newest path.
    pub example: String,
}

/// One zombie.
#[derive(Debug, Clone)]
pub struct Leak {
    /// The kernel's number for it.
    pub id: u64,
    /// The path that it had.
    pub path: String,
    /// None: before the beginning.
    pub made_ns: Option<u64>,
    /// When it was removed.
    pub removed_ns: u64,
    /// Who made it.
    pub creator: Who,
    /// None: before the beginning.
    pub creator_pid: Option<u32>,
    /// Who removed it.
    pub remover: Who,
    /// The process that removed it.
    pub remover_pid: u32,
}

/// One cgroup, in 56 bytes.
struct Entry {
    made_ns: u64,    // 0: before the beginning
    removed_ns: u64, // 0: in use
    parts: Box<[u8]>,
    creator_pid: u32,
    remover_pid: u32,
    pattern: u16,
    creator: u16,
    remover: u16,
    group: u16,
    is_zombie: bool,
}

#[derive(Default)]
struct Totals {
    made: u64,
    removed: u64,
    released: u64,
    dying: u64,
    zombies: u64,
    untracked: u64,
    untracked_before: u64, // at the last snapshot
    entries: u64,
    last_ns: u64,
    example: Vec<u8>,
}

impl Totals {
    /// Those that only count have no times: they are zombies if they outlived a snapshot.
    fn all_zombies(&self) -> u64 {
        self.zombies + self.untracked.min(self.untracked_before)
    }
}

type Key = (u16, u16, u16); // pattern, creator, remover

/// The accounts.
pub struct Book {
    /// Everybody who is mentioned.
    pub people: Interned<Who>,
    entries: FastMap<u64, Entry>,
    part_bytes: usize,
    patterns: Interned<Vec<u8>>,
    keys: Interned<Key>,
    totals: Vec<Totals>,
    freed: Vec<u64>,
    lost: u64,
    freed_older: u64,
    now_ns: u64,
    room_made_ns: u64,
    pattern: Vec<u8>,
    parts: Vec<u8>,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            people: Interned::new(Who::default()),
            entries: FastMap::default(),
            part_bytes: 0,
            patterns: Interned::new(OTHER.to_vec()),
            keys: Interned::new((0, NOBODY, NOBODY)),
            totals: vec![Totals::default()],
            freed: Vec::new(),
            lost: 0,
            freed_older: 0,
            now_ns: 0,
            room_made_ns: 0,
            pattern: Vec::new(),
            parts: Vec::new(),
        }
    }
}

impl Book {
    /// Events that were never seen.
    pub fn lost(&mut self, count: u64) {
        self.lost += count;
    }

    /// A cgroup was made.
    pub fn made(&mut self, event: &Event, creator: u16) {
        if let Some(stale) = self.entries.remove(&event.id) {
            self.close(event.id, &stale); // its release was lost, and its number given to another
        }
        let pattern = self.fold(event);
        let group = self.group((pattern, creator, NOBODY), event);
        self.totals[group].made += 1;
        self.enter(event, pattern, group, (creator, event.pid), (NOBODY, 0));
    }

    /// A cgroup was removed.
    pub fn removed(&mut self, event: &Event, remover: u16) {
        let pattern = self.fold(event);
        let (creator, is_made) = match self.entries.get(&event.id) {
            Some(entry) if entry.removed_ns > 0 => return,
            Some(entry) => (entry.creator, entry.made_ns > 0),
            None => (NOBODY, false),
        };
        let group = self.group((pattern, creator, remover), event);
        if let Some(entry) = self.entries.get_mut(&event.id) {
            let before = &mut self.totals[usize::from(entry.group)];
            before.entries -= 1;
            before.made -= u64::from(is_made);
            entry.removed_ns = event.time_ns.max(1);
            (entry.remover, entry.remover_pid, entry.group) = (remover, event.pid, number(group));
            self.totals[group].entries += 1;
        } else if !self.enter(event, pattern, group, (NOBODY, 0), (remover, event.pid)) {
            self.totals[group].untracked += 1;
        }
        let totals = &mut self.totals[group];
        totals.made += u64::from(is_made);
        totals.removed += 1;
        totals.dying += 1;
    }

    /// A cgroup was freed.
    pub fn released(&mut self, event: &Event) {
        self.now_ns = self.now_ns.max(event.time_ns);
        if let Some(entry) = self.entries.remove(&event.id) {
            self.close(event.id, &entry);
            return;
        }
        let pattern = self.fold(event);
        let keys = &self.keys;
        let candidates = self.totals.iter_mut().enumerate();
        let of_pattern =
            candidates.filter(|(group, t)| t.untracked > 0 && keys.get(number(*group)).0 == pattern);
        // Which of several groups it was counted in is not known: the largest is the likeliest.
        match of_pattern.max_by_key(|(_, totals)| totals.untracked) {
            Some((_, totals)) => {
                totals.released += 1;
                totals.dying -= 1;
                totals.untracked -= 1;
            }
            None => self.freed_older += 1,
        }
    }

    /// The accounts now, and what has changed since the last time.
    pub fn take(&mut self, now_ns: u64, wanted: &Wanted) -> Snapshot {
        let leaks = self.settle(now_ns, wanted);
        let mut order: Vec<usize> = (0..self.totals.len()).collect();
        order.retain(|&group| self.totals[group].made + self.totals[group].removed > 0);
        order.sort_by_key(|&g| std::cmp::Reverse((self.totals[g].all_zombies(), self.totals[g].made)));
        let snapshot = Snapshot {
            lost: self.lost,
            untracked: self.totals.iter().map(|totals| totals.untracked).sum(),
            freed_older: self.freed_older,
            dying: self.totals.iter().map(|totals| totals.dying).sum(),
            zombies: self.totals.iter().map(Totals::all_zombies).sum(),
            groups: order.iter().take(wanted.groups).map(|&group| self.describe(group)).collect(),
            leaks,
            freed: std::mem::take(&mut self.freed),
        };
        for totals in &mut self.totals {
            totals.untracked_before = totals.untracked;
        }
        snapshot
    }

    /// Take out groups that nothing belongs to when the lists are full; whether numbers have changed.
    pub fn make_room(&mut self) -> bool {
        let is_full = self.keys.is_full() || self.patterns.is_full() || self.people.is_full();
        if !is_full || self.now_ns < self.room_made_ns + ROOM_EVERY_NS {
            return false;
        }
        self.room_made_ns = self.now_ns;
        let mut idle: Vec<usize> = (1..self.totals.len())
            .filter(|&group| self.totals[group].entries == 0 && self.totals[group].untracked == 0)
            .collect();
        idle.sort_by_key(|&group| std::cmp::Reverse(self.totals[group].last_ns));
        let mut groups = vec![true; self.keys.len()];
        for &group in idle.iter().skip(IDLE_GROUPS_KEPT) {
            let gone = std::mem::take(&mut self.totals[group]);
            let other = &mut self.totals[0];
            other.made += gone.made;
            other.removed += gone.removed;
            other.released += gone.released;
            groups[group] = false;
        }
        let mut patterns = vec![false; self.patterns.len()];
        let mut people = vec![false; self.people.len()];
        let kept = groups.iter().enumerate().filter(|(_, is_kept)| **is_kept);
        let keys = kept.map(|(group, _)| *self.keys.get(number(group)));
        let entries = self.entries.values().map(|entry| (entry.pattern, entry.creator, entry.remover));
        for (pattern, creator, remover) in keys.chain(entries) {
            patterns[usize::from(pattern)] = true;
            people[usize::from(creator)] = true;
            people[usize::from(remover)] = true;
        }
        self.keys.keep(&groups);
        self.patterns.keep(&patterns);
        self.people.keep(&people);
        true
    }

    /// The number of the event's pattern; its parts are in `self.parts`.
    fn fold(&mut self, event: &Event) -> u16 {
        fold(event.path, &mut self.pattern, &mut self.parts);
        let known = self.patterns.find(&self.pattern);
        let pattern = known.unwrap_or_else(|| self.patterns.add(self.pattern.clone()));
        if pattern == 0 {
            self.parts.clear();
            self.parts.extend(event.path);
        }
        pattern
    }

    fn group(&mut self, key: Key, event: &Event) -> usize {
        let group = self.keys.find(&key).unwrap_or_else(|| self.keys.add(key));
        let group = usize::from(group);
        if group >= self.totals.len() {
            self.totals.resize_with(group + 1, Totals::default);
        }
        self.now_ns = self.now_ns.max(event.time_ns);
        self.totals[group].last_ns = event.time_ns;
        self.totals[group].example.clear();
        self.totals[group].example.extend(event.path);
        group
    }

    /// Remember one; false where there is no room. It is in use if nobody has removed it.
    fn enter(
        &mut self,
        event: &Event,
        pattern: u16,
        group: usize,
        (creator, creator_pid): (u16, u32),
        (remover, remover_pid): (u16, u32),
    ) -> bool {
        if self.entries.len() >= MOST_ENTRIES {
            return false;
        }
        let is_removed = remover_pid > 0;
        let has_room = self.part_bytes + self.parts.len() <= MOST_PART_BYTES;
        let parts: Box<[u8]> = if has_room { self.parts.as_slice().into() } else { Box::default() };
        self.part_bytes += parts.len();
        self.totals[group].entries += 1;
        let entry = Entry {
            made_ns: if is_removed { 0 } else { event.time_ns.max(1) },
            removed_ns: if is_removed { event.time_ns.max(1) } else { 0 },
            parts,
            creator_pid,
            remover_pid,
            pattern,
            creator,
            remover,
            group: number(group),
            is_zombie: false,
        };
        self.entries.insert(event.id, entry);
        true
    }

    /// One that was freed leaves the accounts.
    fn close(&mut self, id: u64, entry: &Entry) {
        self.part_bytes -= entry.parts.len();
        let totals = &mut self.totals[usize::from(entry.group)];
        totals.entries -= 1;
        totals.released += 1;
        if entry.removed_ns == 0 {
            totals.removed += 1; // that was lost
            return;
        }
        totals.dying -= 1;
        if entry.is_zombie {
            totals.zombies -= 1;
            self.freed.push(id);
        }
    }

    /// Make zombies of those that were removed long enough ago, and give the newest.
    fn settle(&mut self, now_ns: u64, wanted: &Wanted) -> Vec<Leak> {
        let mut settled: Vec<(u64, u64)> = Vec::new();
        for (&id, entry) in &mut self.entries {
            let is_due = entry.removed_ns > 0 && entry.removed_ns + wanted.settled_ns <= now_ns;
            if is_due && !entry.is_zombie {
                entry.is_zombie = true;
                self.totals[usize::from(entry.group)].zombies += 1;
                settled.push((entry.removed_ns, id));
            }
        }
        settled.sort_unstable();
        let newest = &settled[settled.len().saturating_sub(wanted.leaks)..];
        newest.iter().map(|(_, id)| self.leak(*id, &self.entries[id])).collect()
    }

    fn leak(&self, id: u64, entry: &Entry) -> Leak {
        let is_made = entry.made_ns > 0;
        Leak {
            id,
            path: text(&unfold(self.patterns.get(entry.pattern), &entry.parts)),
            made_ns: is_made.then_some(entry.made_ns),
            removed_ns: entry.removed_ns,
            creator: self.people.get(entry.creator).clone(),
            creator_pid: is_made.then_some(entry.creator_pid),
            remover: self.people.get(entry.remover).clone(),
            remover_pid: entry.remover_pid,
        }
    }

    fn describe(&self, group: usize) -> Group {
        let &(pattern, creator, remover) = self.keys.get(number(group));
        let totals = &self.totals[group];
        Group {
            pattern: text(self.patterns.get(pattern)),
            creator: self.people.get(creator).clone(),
            remover: self.people.get(remover).clone(),
            made: totals.made,
            removed: totals.removed,
            released: totals.released,
            dying: totals.dying,
            zombies: totals.all_zombies(),
            example: text(&totals.example),
        }
    }
}

fn number(group: usize) -> u16 {
    u16::try_from(group).unwrap_or(0)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
