"""Which living cgroups the zombies were in, and what is held below each.

Reads    cgroup.stat of the cgroups that have zombies below them (v2); else what zombie_pins tells (v1)
Needs    the real root of the hierarchy
Costs    v2: one read for every cgroup on the way to a zombie

The parent is what can be told to let go: a zombie itself has no directory. v2 counts the zombies of each, v1
does not: there a parent shows only by the memory that is held below it, if that is more than the error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.model.reading import Reading
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import parse_cgroup_stat
from necroscope.sources.zombie_pins import PinnedMemory, ZombiePins, parse_memory_stat

KINDS = ("page cache", "tmpfs and shared memory", "anonymous memory")  # as in PinnedMemory.by_kind
NOTHING = PinnedMemory(0, 0, 0, None, None)


@dataclass(frozen=True, slots=True)
class ZombieParent:
    """A living cgroup whose removed children the kernel keeps."""

    cgroup: str  # /pods
    inode: int
    zombies: int | None  # its own children, not those further below; None: v1 does not tell
    held: PinnedMemory | None  # None: less than the error, or this kernel does not tell
    kinds: tuple[str, ...]  # of KINDS: what may hold them
    own: PinnedMemory | None  # what it has itself; None: it cannot be told
    error_bytes: int = 0  # of its own
    least_error_bytes: int = 0  # the same where it reads 0

    def is_sure(self, kind: str, held_bytes: int) -> bool:
        """Whether so much of a kind that names the parent cannot be all its own."""
        if self.own is None:
            return False
        if not (own_bytes := self.own.by_kind()[kind]):
            return held_bytes > self.least_error_bytes
        # Processes of the root come and go: what it has is never told exactly enough.
        is_little = self.cgroup != "/" and own_bytes <= self.error_bytes
        return is_little and held_bytes > own_bytes + self.error_bytes


def read_zombie_parents(host: Host, pins: ZombiePins | None) -> Reading[tuple[ZombieParent, ...]]:
    """All parents that are known, by path."""
    found = find_hierarchy(host, "memory")
    if found.value is None:
        return found.without_value()
    hierarchy = found.value
    held = dict(pins.by_parent) if pins else {}
    error_bytes = pins.error_bytes if pins else 0
    parents = (
        [_parent_v1(host, hierarchy, path, pins, one) for path, one in held.items()]
        if hierarchy.version == 1 and pins
        else [
            _parent_v2(path, _inode(host, hierarchy, path), count, error_bytes, held.get(path))
            for path, count in _dying_below(host, hierarchy, "")
        ]
    )
    return Reading(tuple(sorted(parents, key=lambda parent: parent.cgroup)))


def _parent_v1(
    host: Host, hierarchy: Hierarchy, path: str, pins: ZombiePins, held: PinnedMemory
) -> ZombieParent:
    return ZombieParent(
        cgroup=path,
        inode=_inode(host, hierarchy, path),
        zombies=None,
        held=held,
        kinds=_kinds_above(held, pins.error_bytes),
        own=_own(host, hierarchy, path),
        error_bytes=pins.error_bytes,
        least_error_bytes=pins.error_bytes_each,
    )


def _parent_v2(
    path: str, inode: int, zombies: int, error_bytes: int, held: PinnedMemory | None
) -> ZombieParent:
    kinds = (_kinds_above(held, error_bytes) if held else ()) or KINDS
    # A cgroup that hands memory on to children has no processes, and so none of its own. But the root may,
    # and a unit that manages its own children began in their parent, where its first memory stays.
    may_have_own = path == "/" or path.endswith((".service", ".scope"))
    return ZombieParent(path, inode, zombies, held, kinds, None if may_have_own else NOTHING)


def _kinds_above(held: PinnedMemory, error_bytes: int) -> tuple[str, ...]:
    by_kind = held.by_kind()
    return tuple(kind for kind in KINDS if by_kind[kind] > error_bytes)


def _own(host: Host, hierarchy: Hierarchy, path: str) -> PinnedMemory | None:
    stat = host.read(f"{hierarchy.mount}{path.rstrip('/')}/memory.stat").parsed(parse_memory_stat).value
    if not stat:
        return None
    shared = stat.get("shmem", 0)
    return PinnedMemory(stat.get("cache", 0) - shared, shared, stat.get("rss", 0), None, None)


def _dying_below(host: Host, hierarchy: Hierarchy, path: str) -> Iterator[tuple[str, int]]:
    """Every cgroup that has zombies as its own children, with their number."""
    below = zombies_below(host, f"{hierarchy.mount}{path}")
    if not below:
        return
    for name in host.names(f"{hierarchy.mount}{path}").value or ():
        child = f"{path}/{name}"
        if count := zombies_below(host, f"{hierarchy.mount}{child}"):
            below -= count
            yield from _dying_below(host, hierarchy, child)
    if below > 0:  # the numbers are not read in one instant
        yield path or "/", below


def zombies_below(host: Host, folder: str) -> int:
    """Zombies of a v2 cgroup and of all below it; 0 for a folder that is none."""
    stat = host.read(f"{folder}/cgroup.stat").parsed(parse_cgroup_stat).value or {}
    return stat.get("nr_dying_subsys_memory", stat.get("nr_dying_descendants", 0))


def _inode(host: Host, hierarchy: Hierarchy, path: str) -> int:
    try:
        return host.path(f"{hierarchy.mount}{path}").stat().st_ino
    except OSError:  # removed meanwhile
        return 0
