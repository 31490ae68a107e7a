//! The subsecond-offset heatmap with what a search finds in it, and who the samples are of.

use std::collections::HashMap;

use crate::hash::FastMap;
use crate::profile::Samples;
use crate::sealed::{Columns, Error, Sealed};
use crate::search::Matches;
use crate::window::{Filter, Keeps};

const SECOND: usize = 1_000_000_000;

/// Samples of one profile or several: a column a second, a row a fraction of it, the earliest first.
#[derive(Debug, Default)]
pub struct Scope {
    columns: usize,
    rows: usize,
    /// Samples of each cell, column by column.
    pub counts: Vec<u32>,
    /// Those of them that the search matches; empty without one.
    pub matched: Vec<u32>,
    /// Samples counted.
    pub samples: u64,
    /// Samples of idle cores that passed the other filters, counted or not.
    pub idle: u64,
    /// Counted samples whose innermost frame has no name.
    pub unknown: u64,
    /// Samples by core. As with processes and threads, what the filter says of cores does not matter here:
    /// these are the ones that could be chosen.
    pub cpus: HashMap<i32, u64>,
    /// Samples by process.
    pub processes: HashMap<String, u64>,
    /// Samples by the name of the thread.
    pub threads: HashMap<String, u64>,
}

/// What one thread counts, from the first column that the profile reaches.
struct Part {
    first: usize,
    counts: Vec<u32>,
    matched: Vec<u32>,
    samples: u64,
    idle: u64,
    unknown: u64,
    cpus: FastMap<i32, u64>,
    /// By task: as a process, as a thread.
    tasks: Vec<[u64; 2]>,
}

/// What is asked of every sample.
struct Ask<'a> {
    sealed: &'a Sealed,
    filter: &'a Filter,
    keeps: Keeps,
    matches: Option<Matches>,
    nameless: Vec<bool>,
    begin: i64,
    rows: usize,
}

impl Scope {
    /// An empty one.
    pub fn new(columns: usize, rows: usize) -> Self {
        Self { columns, rows, counts: vec![0; columns * rows], ..Self::default() }
    }

    /// Add the samples of one profile. The first column begins at `begin` on the profile's clock.
    pub fn add(&mut self, sealed: &Sealed, filter: &Filter, begin: i64) -> Result<(), Error> {
        let Some((first, last)) = self.columns_of(sealed, filter, begin)? else { return Ok(()) };
        let ask = Ask::new(sealed, filter, begin, self.rows)?;
        let columns = Columns { cpu: true, task: true, ..filter.columns() };
        let new = || Part::new(first, (last + 1 - first) * self.rows, &ask);
        let parts = sealed.fold((filter.begin, filter.end), columns, new, |part, samples| {
            (0..samples.time.len()).for_each(|index| part.add(&ask, samples, index));
        })?;
        if ask.matches.is_some() {
            self.matched.resize(self.counts.len(), 0);
        }
        parts.into_iter().for_each(|part| self.merge(part, sealed));
        Ok(())
    }

    /// The first and the last column that a profile has samples in.
    fn columns_of(
        &self,
        sealed: &Sealed,
        filter: &Filter,
        begin: i64,
    ) -> Result<Option<(usize, usize)>, Error> {
        let Some((first, last)) = sealed.span()? else { return Ok(None) };
        let (first, last) = (first.max(filter.begin).max(begin), last.min(filter.end.saturating_sub(1)));
        let column = |time: i64| time.saturating_sub(begin) as usize / SECOND;
        let is_inside = first <= last && column(first) < self.columns;
        Ok(is_inside.then(|| (column(first), column(last).min(self.columns - 1))))
    }

    fn merge(&mut self, part: Part, sealed: &Sealed) {
        let from = part.first * self.rows;
        add_to(&mut self.counts[from..], &part.counts);
        if !self.matched.is_empty() {
            add_to(&mut self.matched[from..], &part.matched);
        }
        self.samples += part.samples;
        self.idle += part.idle;
        self.unknown += part.unknown;
        for (cpu, count) in part.cpus {
            *self.cpus.entry(cpu).or_insert(0) += count;
        }
        for (task, [as_process, as_thread]) in sealed.tasks.iter().zip(part.tasks) {
            let process = if task.process.is_empty() { &task.comm } else { &task.process };
            add_name(&mut self.processes, process, as_process);
            add_name(&mut self.threads, &task.comm, as_thread);
        }
    }
}

fn add_to(cells: &mut [u32], more: &[u32]) {
    cells.iter_mut().zip(more).for_each(|(cell, more)| *cell += more);
}

fn add_name(names: &mut HashMap<String, u64>, name: &str, count: u64) {
    if count == 0 {
        return;
    }
    match names.get_mut(name) {
        Some(sum) => *sum += count,
        None => drop(names.insert(name.to_string(), count)),
    }
}

impl<'a> Ask<'a> {
    fn new(sealed: &'a Sealed, filter: &'a Filter, begin: i64, rows: usize) -> Result<Self, Error> {
        let names = sealed.names()?;
        let is_nameless = |stack: &[u32]| stack.last().is_none_or(|&leaf| names.frame(leaf).name.is_empty());
        Ok(Self {
            sealed,
            filter,
            keeps: filter.keeps(sealed)?,
            matches: filter.search.as_ref().map(|search| Matches::of(search, sealed)).transpose()?,
            nameless: names.stacks.iter().map(is_nameless).collect(),
            begin,
            rows,
        })
    }
}

impl Part {
    fn new(first: usize, cells: usize, ask: &Ask<'_>) -> Self {
        Self {
            first,
            counts: vec![0; cells],
            matched: if ask.matches.is_some() { vec![0; cells] } else { Vec::new() },
            samples: 0,
            idle: 0,
            unknown: 0,
            cpus: FastMap::default(),
            tasks: vec![[0; 2]; ask.sealed.tasks.len()],
        }
    }

    fn add(&mut self, ask: &Ask<'_>, samples: &Samples, index: usize) {
        let (cpu, task, stack) = (samples.cpu[index], samples.task[index], samples.stack[index]);
        let passed = ask.keeps.passed(samples, index);
        if !passed.others {
            return;
        }
        let is_idle = ask.sealed.idle[stack as usize];
        let passes_all = passed.cpu && passed.process && passed.thread;
        self.idle += u64::from(is_idle && passes_all);
        if is_idle && !ask.filter.idle {
            return;
        }
        if passed.process && passed.thread {
            *self.cpus.entry(cpu).or_insert(0) += 1;
        }
        self.tasks[task as usize][0] += u64::from(passed.cpu && passed.thread);
        self.tasks[task as usize][1] += u64::from(passed.cpu && passed.process);
        if passes_all {
            let matches = ask.matches.as_ref().is_some_and(|matches| matches.sample(task, stack));
            self.count(ask, samples.time[index], matches, ask.nameless[stack as usize]);
        }
    }

    fn count(&mut self, ask: &Ask<'_>, time: i64, matches: bool, nameless: bool) {
        self.samples += 1;
        self.unknown += u64::from(nameless);
        let Some(place) = self.place(ask, time) else { return };
        if let Some(cell) = self.counts.get_mut(place) {
            *cell += 1;
        }
        if matches && let Some(cell) = self.matched.get_mut(place) {
            *cell += 1;
        }
    }

    fn place(&self, ask: &Ask<'_>, time: i64) -> Option<usize> {
        let offset = usize::try_from(time.checked_sub(ask.begin)?).ok()?;
        let column = (offset / SECOND).checked_sub(self.first)?;
        Some(column * ask.rows + offset % SECOND * ask.rows / SECOND)
    }
}

#[cfg(test)]
mod tests;
