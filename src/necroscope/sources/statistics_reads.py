"""How long one read of the memory statistics takes that kubelet reads every ten seconds.

Reads    memory.stat (and memory.numa_stat on cgroup v1) of the root, of /system.slice and of a cgroup
         without children
Needs    nothing
Costs    what it measures: 0.2 ms for all files on Linux 6.18 with any number of zombies; seconds of one core
         on Linux 5.2 to 5.7 with tens of thousands of zombies. A file is read once to warm up and then
         three times, but only once if that takes more than 50 ms.

It is not one of the sources that are read every second: where it is slow it would do the harm that it
measures. A read that is slow keeps its core in the kernel until it ends; nothing can interrupt it.

On kernels up to 5.7 the kernel walks all memory cgroups below the one that is asked, zombies too. Such a walk
is seen as the difference between the root and a cgroup that has nobody below it, measured here and now:
distributions take such changes over into older kernels, so that a version alone does not tell.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from necroscope._native import list_directories
from necroscope.model.reading import Absence, Reading
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host
from necroscope.sources.source import Read

FILES = {1: ("memory.stat", "memory.numa_stat"), 2: ("memory.stat",)}  # kubelet reads no others of v2
HINTS = {
    Absence.NOT_PERMITTED: "run on the host, or in a container with the host's cgroup namespace",
    Absence.NOT_SUPPORTED: "a live host with the memory controller; on cgroup v2, Linux 5.13 or newer",
}
SLOW_SECONDS = 0.05
REPEATS = 3
MOST_LEAVES = 3


@dataclass(frozen=True, slots=True)
class StatisticsRead:
    """One file: how long it takes for a cgroup, and for one that has no others below it."""

    name: str
    cgroup: str  # "/" or "/system.slice"
    file: str  # the whole path
    seconds: float  # median, without the first; of the only read, where that is slow
    first_seconds: float  # the first since Linux 5.13 also pays for all that changed
    reads: int
    leaf_seconds: float | None  # the quickest of three cgroups without children; None: there is none


def open_statistics_reads(host: Host) -> Read[tuple[StatisticsRead, ...]]:
    """A reader that times the files; the mounts are looked up once."""
    hierarchy = find_hierarchy(host, "memory")

    def read() -> Reading[tuple[StatisticsRead, ...]]:
        if hierarchy.value is None:
            return hierarchy.without_value()
        if not host.is_live:
            detail = "a recorded tree has no kernel behind its files"
            return Reading(absence=Absence.NOT_SUPPORTED, detail=detail)
        return _read_all(host, hierarchy.value)

    return read


def _read_all(host: Host, hierarchy: Hierarchy) -> Reading[tuple[StatisticsRead, ...]]:
    found: list[StatisticsRead] = []
    refused: Reading[str] = Reading(
        absence=Absence.NOT_SUPPORTED, detail=f"no statistics in {hierarchy.mount}"
    )
    leaves = _leaves(host, hierarchy)
    for name in FILES[hierarchy.version]:
        leaf = [t[0] for path in leaves if (t := _times(host, f"{hierarchy.mount}/{path}/{name}"))]
        for cgroup in ("/", "/system.slice"):
            file = f"{hierarchy.mount}{cgroup.rstrip('/')}/{name}"
            if times := _times(host, file):
                seconds, first_seconds, reads = times
                found.append(
                    StatisticsRead(name, cgroup, file, seconds, first_seconds, reads, min(leaf, default=None))
                )
            elif cgroup == "/":
                refused = host.read(file)
    return Reading(tuple(found)) if found else refused.without_value()


def _leaves(host: Host, hierarchy: Hierarchy) -> list[str]:
    """Some cgroups without children: what their statistics cost is without any walk."""
    try:
        paths, _, _ = list_directories(host.path(hierarchy.mount))
    except OSError:
        return []
    parents = {path.rpartition("/")[0] for path in paths if path}
    return [path for path in sorted(paths) if path and path not in parents][:MOST_LEAVES]


def _times(host: Host, file: str) -> tuple[float, float, int] | None:
    """Seconds of a read, of the first, and how many there were; None where it cannot be read."""
    first = _time(host, file)
    if first is None:
        return None
    if first > SLOW_SECONDS:
        return first, first, 1
    later = [seconds for _ in range(REPEATS) if (seconds := _time(host, file)) is not None]
    return median(later) if later else first, first, 1 + len(later)


def _time(host: Host, file: str) -> float | None:
    began = time.perf_counter()
    reading = host.read(file)
    return time.perf_counter() - began if reading.value is not None else None
