"""How many zombies each method of the kernel counts, or why it has none.

A method gives the number of now. What was there before a leak is taken off by whoever compares.
"""

from __future__ import annotations

import re
from typing import Any

from necroscope._native import list_directories
from necroscope.model.reading import Absence, Reading
from necroscope.sources.hierarchies import Hierarchy, read_hierarchies
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import open_memory_cgroups, parse_cgroup_stat, parse_proc_cgroups

SLAB_ROW = re.compile(r"^mem_cgroup +(\d+) ", re.MULTILINE)

Answer = dict[str, Any]  # {"count": 7} or {"absent": "why"}


def count_by_all_methods(host: Host, hierarchy: Hierarchy) -> dict[str, Answer]:
    """Every method by its id."""
    return {
        "source": _answer(open_memory_cgroups(host)().parsed(lambda counts: counts.memory.dying)),
        "proc_cgroups": _answer(_proc_cgroups(host, hierarchy)),
        "dying_descendants": _answer(_cgroup_stat(host, hierarchy, "nr_dying_descendants")),
        "dying_subsys_memory": _answer(_cgroup_stat(host, hierarchy, "nr_dying_subsys_memory")),
        "slabinfo": _answer(_slabinfo(host, hierarchy)),
    }


def added(before: dict[str, Answer], after: dict[str, Answer]) -> dict[str, Answer]:
    """What each method counted more the second time."""
    return {
        method: {"count": now["count"] - before[method]["count"]} if "count" in now else now
        for method, now in after.items()
    }


def _answer(reading: Reading[int]) -> Answer:
    return {"count": reading.value} if reading.value is not None else {"absent": reading.reason}


def _proc_cgroups(host: Host, hierarchy: Hierarchy) -> Reading[int]:
    rows = host.read("/proc/cgroups").parsed(parse_proc_cgroups)
    if rows.value is not None and "memory" not in rows.value:
        return _lacks("/proc/cgroups has no memory row")
    return rows.parsed(lambda tracked: tracked["memory"] - _in_use(host, hierarchy))


def _cgroup_stat(host: Host, hierarchy: Hierarchy, name: str) -> Reading[int]:
    if hierarchy.version == 1:
        others = [one for one in read_hierarchies(host).value or () if one.version == 2]
        return _lacks(
            "memory is on cgroup v1" + (", which the v2 beside it does not count" if others else "")
        )
    stat = host.read(f"{hierarchy.mount}/cgroup.stat").parsed(parse_cgroup_stat)
    if stat.value is not None and name not in stat.value:
        return _lacks(f"cgroup.stat has no {name}")
    return stat.parsed(lambda numbers: numbers[name])


def _slabinfo(host: Host, hierarchy: Hierarchy) -> Reading[int]:
    text = host.read("/proc/slabinfo")
    if text.value is not None and not SLAB_ROW.search(text.value):
        return _lacks("/proc/slabinfo has no mem_cgroup: they are among the caches of their size")
    return text.parsed(lambda slab: int(SLAB_ROW.findall(slab)[0]) - _in_use(host, hierarchy))


def _in_use(host: Host, hierarchy: Hierarchy) -> int:
    return len(list_directories(host.path(hierarchy.mount))[0])


def _lacks(detail: str) -> Reading[int]:
    return Reading(absence=Absence.NOT_SUPPORTED, detail=detail)
