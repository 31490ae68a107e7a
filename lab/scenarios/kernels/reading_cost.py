"""What one read of the memory statistics costs, in microseconds of the kernel that answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from necroscope.sources.hierarchies import Hierarchy
from necroscope.sources.host import Host

FILES = ("memory.stat", "memory.numa_stat")
WARM_UPS, READS = 5, 31
PROPORTIONAL_FROM = 3.0  # times the cost without zombies; a walk over hundreds costs tens of times more

Cost = dict[str, Any]  # {"microseconds": 61.0} or {"absent": "why"}


def read_costs(host: Host, hierarchy: Hierarchy, parent: Path) -> dict[str, Cost]:
    """Each file of the root and of a parent of zombies: the median of 31 reads, after five."""
    places = {"root": Path(hierarchy.mount), "parent": parent}
    return {
        f"{file} of {name}": _cost(host, str(place / file))
        for file in FILES
        for name, place in places.items()
    }


def compared(without: Mapping[str, Cost], with_zombies: Mapping[str, Cost]) -> dict[str, Cost]:
    """Both costs of each file, and whether they differ by more than chance."""
    return {name: _both(cost, with_zombies[name]) for name, cost in without.items()}


def _both(without: Cost, with_zombies: Cost) -> Cost:
    if "absent" in with_zombies:
        return with_zombies
    before, after = without["microseconds"], with_zombies["microseconds"]
    is_flat = after < PROPORTIONAL_FROM * before
    return {"without_us": before, "with_us": after, "growth": "flat" if is_flat else "proportional"}


def _cost(host: Host, file: str) -> Cost:
    times: list[float] = []
    for _ in range(WARM_UPS + READS):
        began = time.perf_counter()
        reading = host.read(file)
        times.append((time.perf_counter() - began) * 1e6)
        if reading.value is None:
            return {"absent": reading.reason}
    return {"microseconds": round(median(times[WARM_UPS:]), 1)}
