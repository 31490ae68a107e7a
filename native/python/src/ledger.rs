//! The cgroup ledger.

use std::path::PathBuf;

use necroscope_core::ledger;
use pyo3::prelude::*;

/// `(pattern, creator, its cgroups, remover, its cgroups, made, removed, released, dying, zombies, example)`
type GroupRow = (String, String, String, String, String, u64, u64, u64, u64, u64, String);

/// `(id, path, made, removed, creator, pid, its cgroups, remover, pid, its cgroups)`
type LeakRow = (u64, String, Option<u64>, u64, String, Option<u32>, String, String, u32, String);

/// `((lost, untracked, freed older, dying, zombies), groups, leaks, freed)`
type Snapshot = ((u64, u64, u64, u64, u64), Vec<GroupRow>, Vec<LeakRow>, Vec<u64>);

/// Follows the cgroups of one hierarchy from now on.
#[pyclass]
pub struct CgroupTrace(ledger::Ledger);

#[pymethods]
impl CgroupTrace {
    #[new]
    fn new(py: Python<'_>, tracing: PathBuf, proc: PathBuf, hierarchy: u32) -> PyResult<Self> {
        Ok(Self(py.detach(|| ledger::Ledger::open(&tracing, &proc, hierarchy))?))
    }

    /// The accounts at a time.
    fn take(
        &self,
        py: Python<'_>,
        now_ns: u64,
        settled_ns: u64,
        most_groups: usize,
        most_leaks: usize,
    ) -> PyResult<Snapshot> {
        let wanted = ledger::Wanted { settled_ns, groups: most_groups, leaks: most_leaks };
        let all = py.detach(|| self.0.take(now_ns, &wanted))?;
        let counts = (all.lost, all.untracked, all.freed_older, all.dying, all.zombies);
        Ok((
            counts,
            all.groups.into_iter().map(group_row).collect(),
            all.leaks.into_iter().map(leak_row).collect(),
            all.freed,
        ))
    }

    /// Stop, and remove the instance.
    fn close(&mut self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

fn group_row(group: ledger::Group) -> GroupRow {
    let (creator, remover) = (group.creator, group.remover);
    (
        group.pattern,
        creator.comm,
        creator.cgroups,
        remover.comm,
        remover.cgroups,
        group.made,
        group.removed,
        group.released,
        group.dying,
        group.zombies,
        group.example,
    )
}

fn leak_row(leak: ledger::Leak) -> LeakRow {
    let (creator, remover) = (leak.creator, leak.remover);
    (
        leak.id,
        leak.path,
        leak.made_ns,
        leak.removed_ns,
        creator.comm,
        leak.creator_pid,
        creator.cgroups,
        remover.comm,
        leak.remover_pid,
        remover.cgroups,
    )
}
