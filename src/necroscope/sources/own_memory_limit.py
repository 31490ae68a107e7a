"""How much memory our own cgroup, and those above it, may take.

Reads    /proc/self/cgroup, and memory.max or memory.limit_in_bytes of the cgroups on the way
Needs    nothing
Costs    four small reads, once
"""

from __future__ import annotations

from pathlib import PurePosixPath

from necroscope.sources.hierarchies import Hierarchy, read_hierarchies
from necroscope.sources.host import Host

FILES = {1: "memory.limit_in_bytes", 2: "memory.max"}


def read_own_memory_limit(host: Host) -> int | None:
    """Return the least of the limits in bytes; None if there is none."""
    groups = host.read("/proc/self/cgroup", errors="surrogateescape").value or ""
    limits = []
    for hierarchy in read_hierarchies(host).value or ():
        for line in groups.splitlines():
            _, controllers, path = (*line.split(":", 2), "", "")[:3]
            if _is_of_memory(hierarchy, controllers):
                # In a cgroup namespace, a path may lead out of what is mounted.
                inside = "/" if ".." in path else path
                for folder in (inside, *map(str, PurePosixPath(inside).parents)):
                    limits.append(host.word(f"{hierarchy.mount}{folder}/{FILES[hierarchy.version]}"))
    return min((int(limit) for limit in limits if limit.isdecimal()), default=None)


def _is_of_memory(hierarchy: Hierarchy, controllers: str) -> bool:
    if hierarchy.version == 2:
        return controllers == ""
    return "memory" in hierarchy.controllers and "memory" in controllers.split(",")
