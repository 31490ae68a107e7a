"""What holds zombie memory cgroups in the kernel: page cache, tmpfs, anonymous memory, slab.

Reads    memory.stat of every cgroup in use
Needs    nothing
Costs    one read of each: 15 us on Linux 6.18. It ends after half a second and says that it did: up to
         Linux 5.1 each read is a walk. It is not one of the sources that are read every second.

A parent's statistics include its removed children as long as these are held. So what is charged to the
removed children of a cgroup is its total, less its own, less the totals of the children that it still has.

v1: total_cache - cache - total_cache of the children; so for shmem, rss and swap. Slab is not in the file.
v2: the file has totals only. A cgroup that hands memory on to children has no processes, so that its own is
what processes left there that have moved on, and since Linux 5.9 the slab of removed children, which is
handed to the parent and holds nothing any more. Of the root it cannot be told: it may have processes.

It says how much memory of which kind is held, not how many zombies: a single page holds one. The files are
not read in one instant, and since Linux 5.13 each may be two seconds old, or 64 pages a core behind. Before,
every cgroup keeps up to 32 pages a core to itself, removed ones too: zombies that hold less are not seen here
(as in a guest with 5.10, where 600 zombies of one page each did not show).
"""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from necroscope._native import list_directories
from necroscope.model.reading import Absence, Reading
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host, missing, parse_core_list, whole_lines

MOST_SECONDS = 0.5
BATCH_PAGES = 64  # that a core may keep to itself before it adds them to the count
OLD_BATCH_PAGES = 32  # that each cgroup keeps on each core before Linux 5.13
EXACT_SINCE = (5, 13)


@dataclass(frozen=True, slots=True)
class PinnedMemory:
    """Bytes charged to cgroups that were removed, by kind. None: this kernel does not tell."""

    page_cache_bytes: int  # of files on disks
    tmpfs_bytes: int  # tmpfs, /dev/shm, memfd and SysV shared memory
    anonymous_bytes: int
    swap_bytes: int | None
    slab_bytes: int | None

    @property
    def largest_bytes(self) -> int:
        """Of the kind that there is most of."""
        return max(self.by_kind().values())

    def by_kind(self) -> dict[str, int]:
        """The kinds that this kernel tells, in words."""
        kinds = {
            "page cache": self.page_cache_bytes,
            "tmpfs and shared memory": self.tmpfs_bytes,
            "anonymous memory": self.anonymous_bytes,
            "swap": self.swap_bytes,
            "slab": self.slab_bytes,
        }
        return {kind: count for kind, count in kinds.items() if count is not None}


@dataclass(frozen=True, slots=True)
class ZombiePins:
    """What removed cgroups hold, in all and by the cgroup that they were in; the largest first."""

    total: PinnedMemory
    by_parent: tuple[tuple[str, PinnedMemory], ...]  # where it is more than the error
    error_bytes: int  # of each number
    error_bytes_each: int  # for each zombie on top, which only makes it too low; 0 since Linux 5.13
    cgroups_read: int
    cgroups_in_use: int  # more than were read: it took too long
    root_is_known: bool  # False on v2


def parse_memory_stat(text: str) -> dict[str, int]:
    """The numbers of a memory.stat file by name."""
    return {name: int(value) for name, value in (line.split() for line in whole_lines(text))}


def read_zombie_pins(host: Host, preferred: Iterable[str] = ()) -> Reading[ZombiePins]:
    """What is held; `preferred` cgroups are read first, in case that there is no time for all."""
    found = find_hierarchy(host, "memory")
    if found.value is None:
        return found.without_value()
    hierarchy = found.value
    try:
        paths, _, _ = list_directories(host.path(hierarchy.mount))
    except OSError as error:
        return missing(hierarchy.mount, error)
    children: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if path:
            children[path.rpartition("/")[0]].append(path)
    first = {path.strip("/") for path in preferred}
    order = sorted(paths, key=lambda path: (path not in first, path.count("/") if path else -1, path))
    held, read = _held_by_parent(host, hierarchy, order, children)
    if not held:
        detail = f"no memory.stat below {hierarchy.mount} tells totals"
        return Reading(absence=Absence.NOT_SUPPORTED, detail=detail)
    cores = host.read("/sys/devices/system/cpu/online").parsed(parse_core_list).value or (0,)
    page_bytes = os.sysconf("SC_PAGE_SIZE") * len(cores)
    old = re.match(r"(\d+)\.(\d+)", host.word("/proc/sys/kernel/osrelease"))
    is_exact = not old or (int(old[1]), int(old[2])) >= EXACT_SINCE
    errors = (BATCH_PAGES * page_bytes, 0 if is_exact else OLD_BATCH_PAGES * page_bytes)
    return Reading(_summed(held, errors, (read, len(paths)), hierarchy.version == 1))


def _held_by_parent(
    host: Host, hierarchy: Hierarchy, order: Sequence[str], children: Mapping[str, Sequence[str]]
) -> tuple[dict[str, PinnedMemory], int]:
    stats: dict[str, dict[str, int] | None] = {}
    held: dict[str, PinnedMemory] = {}
    deadline = time.monotonic() + MOST_SECONDS

    def stat(path: str) -> dict[str, int] | None:
        if path not in stats:
            file = f"{hierarchy.mount}/{path}/memory.stat".replace("//", "/")
            stats[path] = host.read(file).parsed(parse_memory_stat).value
        return stats[path]

    for path in order:
        if time.monotonic() > deadline:
            break
        if hierarchy.version == 2 and not _hands_memory_on(host, hierarchy, path):
            continue
        own, below = stat(path), [stat(child) for child in children.get(path, ())]
        if own is None:  # removed meanwhile
            continue
        known = [one for one in below if one]
        try:
            held[path] = _held_v1(own, known) if hierarchy.version == 1 else _held_v2(own, known)
        except KeyError:  # use_hierarchy is off: it has no totals
            continue
    return held, len(stats)


def _hands_memory_on(host: Host, hierarchy: Hierarchy, path: str) -> bool:
    """Whether the children of a v2 cgroup have their own memory count, and it no processes."""
    return bool(path) and "memory" in host.word(f"{hierarchy.mount}/{path}/cgroup.subtree_control").split()


def _held_v1(own: Mapping[str, int], below: Sequence[Mapping[str, int]]) -> PinnedMemory:
    def held(name: str) -> int:
        total = f"total_{name}"
        return own[total] - own[name] - sum(child.get(total, 0) for child in below)

    shared = held("shmem") if "shmem" in own else 0
    swap = held("swap") if "swap" in own else None
    return PinnedMemory(held("cache") - shared, shared, held("rss"), swap, None)


def _held_v2(own: Mapping[str, int], below: Sequence[Mapping[str, int]]) -> PinnedMemory:
    def held(name: str) -> int:
        return own[name] - sum(child.get(name, 0) for child in below)

    shared = held("shmem")
    return PinnedMemory(held("file") - shared, shared, held("anon"), None, held("slab"))


def _summed(
    held: Mapping[str, PinnedMemory], errors: tuple[int, int], counts: tuple[int, int], root_is_known: bool
) -> ZombiePins:
    large = [(f"/{path}", one) for path, one in held.items() if one.largest_bytes > errors[0]]
    by_parent = sorted(large, key=lambda row: -sum(row[1].by_kind().values()))
    return ZombiePins(_sum(list(held.values())), tuple(by_parent), *errors, *counts, root_is_known)


def _sum(parts: Sequence[PinnedMemory]) -> PinnedMemory:
    def known(values: list[int | None]) -> int | None:
        return None if None in values else sum(value or 0 for value in values)

    return PinnedMemory(
        sum(part.page_cache_bytes for part in parts),
        sum(part.tmpfs_bytes for part in parts),
        sum(part.anonymous_bytes for part in parts),
        known([part.swap_bytes for part in parts]),
        known([part.slab_bytes for part in parts]),
    )
