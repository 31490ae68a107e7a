"""What zombies take of the machine's memory: measured where the recording shows it, else estimated.

The largest part is per-CPU counters, one set for every core that the kernel could ever have. /proc/meminfo
tells what all per-CPU memory of the kernel takes. Where the recorded number of tracked cgroups moved by 500
or more, the slope of one against the other is what a cgroup takes here. The kernel keeps per-CPU pages that
got free for the next one, so only moments at which it took more than ever before are looked at.

The slab part (11 KB) is always an estimate, as is all of it without such a recording: by kernel release, from
rules/zombie_memory.toml. The pages that hold the zombies are not in it: somebody may still use them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from necroscope.signals.cgroup_counts import Count
from necroscope.statistics.theil_sen import Point, Slope, theil_sen, thinned

LEAST_RANGE = 500  # cgroups
FEWEST_STEPS = 5


@dataclass(frozen=True, slots=True)
class ZombieMemory:
    """Bytes for each zombie and for all of them."""

    how: Literal["measured", "estimated"]  # the per-CPU part
    percpu_bytes_each: float
    slab_bytes_each: float
    zombies: int
    interval: tuple[float, float] | None  # of the per-CPU part, where it was measured
    source: str

    @property
    def bytes_each(self) -> float:
        """For one."""
        return self.percpu_bytes_each + self.slab_bytes_each

    @property
    def total_bytes(self) -> int:
        """For all."""
        return round(self.zombies * self.bytes_each)


def zombie_memory(
    zombies: int, counts: Sequence[Count], kernel: str, cores_possible: int
) -> ZombieMemory | None:
    """What so many take, by recorded counts in the order of time; None: not known."""
    slab_bytes = float(_rules()["slab_bytes"])
    measured = measured_percpu(counts)
    if measured:
        interval = (measured.low, measured.high)
        source = "Percpu of /proc/meminfo against tracked cgroups; slab estimated"
        return ZombieMemory("measured", measured.value, slab_bytes, zombies, interval, source)
    each = percpu_estimate(kernel)
    if each is None or not cores_possible:
        return None
    source = f"{_rules()['source']}; {cores_possible} possible cores"
    return ZombieMemory("estimated", each * cores_possible, slab_bytes, zombies, None, source)


def measured_percpu(counts: Sequence[Count]) -> Slope | None:
    """Per-CPU bytes of a cgroup; None where the recording does not show it."""
    growing: list[Point] = []
    for count in counts:
        if count.percpu_bytes and (not growing or count.percpu_bytes > growing[-1][1]):
            growing.append((count.tracked, count.percpu_bytes))
    growing = growing[1:]  # at the first one there may have been free pages already
    tracked = [x for x, _ in growing]
    if len(growing) < FEWEST_STEPS or max(tracked) - min(tracked) < LEAST_RANGE:
        return None
    slope = theil_sen(thinned(growing))
    return slope if slope and slope.value > 0 else None


def percpu_estimate(kernel: str) -> int | None:
    """Per-CPU bytes of a cgroup for every possible core, by the kernel's release."""
    known = [(_release(name), count) for name, count in _rules()["percpu_bytes"].items()]
    own = _release(kernel)
    return max(((since, count) for since, count in known if since <= own), default=(own, None))[1]


def _release(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@cache
def _rules() -> dict[str, Any]:
    return tomllib.loads(files("necroscope.diagnosis").joinpath("rules/zombie_memory.toml").read_text())
