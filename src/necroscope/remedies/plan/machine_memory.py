"""What a purge will meet on a machine: memory that is not written yet, swap, and slab that holds cgroups."""

from __future__ import annotations

import re

from necroscope.sources.hierarchies import find_hierarchy
from necroscope.sources.host import Host

MOST_LOOKED_AT = 32  # cgroups below the root


def unwritten_bytes(host: Host) -> int | None:
    """Dirty pages, and those being written; None where it cannot be read."""
    sizes = dict(re.findall(r"^(\w+): +(\d+) kB$", host.read("/proc/meminfo").value or "", re.MULTILINE))
    if not {"Dirty", "Writeback"} <= sizes.keys():
        return None
    return (int(sizes["Dirty"]) + int(sizes["Writeback"])) * 1024


def has_swap(host: Host) -> bool:
    """Whether memory of processes can be put anywhere."""
    return len((host.read("/proc/swaps").value or "").splitlines()) > 1


def slab_holds_zombies(host: Host) -> bool:
    """Whether slab of a removed cgroup keeps it: before Linux 5.9, which hands it to the parent.

    Told by what came or went with that: v1 lists a cgroup's slab caches no more (memory.kmem.slabinfo is
    empty, later gone), v2 counts per-CPU memory in memory.stat.
    """
    hierarchy = find_hierarchy(host, "memory").value
    if not hierarchy:
        return False
    folders = [f"{hierarchy.mount}/{name}" for name in host.names(hierarchy.mount).value or ()]
    if hierarchy.version == 1:
        lists = (f"{folder}/memory.kmem.slabinfo" for folder in folders[:MOST_LOOKED_AT])
        return any(host.read(name).value for name in lists)
    stats = (text for folder in folders if (text := host.read(f"{folder}/memory.stat").value))
    return not re.search(r"^percpu ", next(stats, "percpu "), re.MULTILINE)
