"""Threads by CPU time, and the core each ran on.

Reads    /proc/PID/stat of all processes, /proc/PID/task/TID/stat of those that used CPU time
Needs    nothing; with hidepid, CAP_SYS_PTRACE to see other users' processes
Costs    one read per process, in the Rust core: about 12 us each (1,000 processes: 12 ms); and one per
         thread of a process that used CPU time, about 20 us each

A process with more than 4,096 threads, or with the most when those of all that used CPU time are more than
16,384, is accounted as a whole: under its main thread, and with no core (-1). Otherwise a user with 32,000
idle threads would make every reading take a second.

A thread that ends between two readings takes its last fraction of a second with it. The time of a
process that ended is known once its parent has waited for it, and is given as the parent's children's.
The core is the one a thread last ran on.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from necroscope._native import TaskScanner
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing
from necroscope.sources.process_units import find_top, unit_of
from necroscope.sources.source import Read, Source

BUSIEST_KEPT = 8  # of every core: bounds memory on a node with thousands of runnable threads
FORGET_EVERY = 30  # readings: units are remembered for so long
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Task:
    """What one thread used since the reading before, or a process with too many threads."""

    pid: int
    tid: int
    comm: str
    core: int  # -1 for a process with too many threads
    user_ticks: int
    system_ticks: int
    unit: str  # the systemd unit it runs in; empty where unknown


@dataclass(frozen=True, slots=True)
class EndedChildren:
    """What the children of one process used that it has waited for since: work that came and went."""

    pid: int  # of the parent
    comm: str
    ticks: int
    unit: str


@dataclass(frozen=True, slots=True)
class Processes:
    """How many processes there are, the busiest threads of every core, and the ended children."""

    count: int
    tasks: tuple[Task, ...]
    ended: tuple[EndedChildren, ...] = ()


def open_processes(host: Host) -> Read[Processes]:
    """A reader of the busiest threads; its first reading is the baseline and has none."""
    scanner = TaskScanner(host.path("/proc"))
    units: dict[tuple[int, str], str] = {}
    top = find_top(host)
    reads = 0

    def unit_of_known(pid: int, comm: str) -> str:
        if (unit := units.get((pid, comm))) is None:
            unit = units[pid, comm] = unit_of(host, pid, top)
        return unit

    def read() -> Reading[Processes]:
        nonlocal reads
        reads += 1
        if reads % FORGET_EVERY == 0:  # a process may have moved, and another may have its number
            units.clear()
        try:
            count, rows, parents = scanner.scan(BUSIEST_KEPT)
        except OSError as error:
            return missing("/proc", error)
        if not host.shows_all_processes():
            return Reading(absence=Absence.NOT_PERMITTED, detail="/proc hides other users' processes")
        if not count:
            return Reading(absence=Absence.NOT_SUPPORTED, detail="no process is visible in /proc")
        tasks = tuple(
            Task(pid, tid, comm, core, user, system, unit_of_known(pid, comm))
            for pid, tid, comm, core, user, system in rows
        )
        ended = tuple(
            EndedChildren(pid, comm, ticks, unit_of_known(pid, comm)) for pid, comm, ticks in parents
        )
        return Reading(Processes(count, tasks, ended))

    return read


def process_ids(host: Host) -> list[int]:
    """All processes that are visible, the lowest number first; none where /proc cannot be read."""
    return sorted(int(name) for name in host.names("/proc").value or () if name.isdecimal())


PROCESSES = Source(
    "processes",
    open_processes,
    is_since_last=True,
    to_permit="CAP_SYS_PTRACE, or a /proc mounted without hidepid",
    to_support="the host's PID namespace (hostPID in Kubernetes)",
)
