"""Zombies counted: as they are, until their number holds still, and against the limits of rules/purge.toml.

The kernel frees them one after the other, later.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeVar

from necroscope.errors import CannotLookError
from necroscope.model.reading import Reading
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host, parse_core_list
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, open_memory_cgroups

T = TypeVar("T")

LOOK_EVERY_SECONDS = 0.2
STILL_FALLING_RATIO = 0.01  # in a second: more than comes and goes by itself


def memory_hierarchy(host: Host) -> Hierarchy:
    """Return where memory cgroups are; CannotLookError if they cannot be seen."""
    return _known(find_hierarchy(host, "memory"), "seen")


def count_memory_cgroups(host: Host) -> HierarchyCount:
    """Count memory cgroups in use and dying; CannotLookError if they cannot be counted."""
    return _known(open_memory_cgroups(host)(), "counted").memory


def _known(reading: Reading[T], done: str) -> T:
    if reading.value is None:
        hint = MEMORY_CGROUPS.hint(reading.absence) if reading.absence else ""
        raise CannotLookError(f"memory cgroups cannot be {done}: {reading.reason}", hint=hint)
    return reading.value


def count_zombies(host: Host) -> int:
    """Memory cgroups that were removed and are still there; CannotLookError where they cannot be counted."""
    return count_memory_cgroups(host).dying


@cache
def limit(name: str) -> float:
    """Return one of the numbers by which zombies are purged, from rules/purge.toml."""
    rows = tomllib.loads(files("necroscope.remedies").joinpath("rules/purge.toml").read_text())
    return float(rows[name]["value"])


def noise_floor(host: Host) -> int:
    """As many zombies are left on any machine with so many cores, and are not worth a purge."""
    cores = host.read("/sys/devices/system/cpu/online").parsed(parse_core_list).value or (0,)
    return int(limit("floor") + limit("floor_each_core") * len(cores))


@dataclass(frozen=True, slots=True)
class Settled:
    """How many zombies there were, how many are left, and how long that took."""

    before: int
    left: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.before:,} -> {self.left:,} zombies in {self.seconds:.1f} s"


def purge_in_rounds(host: Host, let_go: Callable[[], None], is_empty: Callable[[], bool]) -> Settled:
    """Let go, wait until freeing has ended, and again while that helps and there is more to let go."""
    began = time.monotonic()
    before = left = count_zombies(host)
    for _ in range(int(limit("rounds"))):
        let_go()
        earlier, left = left, wait_until_settled(host)
        if left <= noise_floor(host) or left >= earlier * (1 - STILL_FALLING_RATIO) or is_empty():
            break
    return Settled(before, left, time.monotonic() - began)


def wait_until_settled(host: Host) -> int:
    """The number of zombies, once it has not fallen for a while; bounded by what freeing so many may take."""
    floor = noise_floor(host)
    least = count_zombies(host)
    began = fell = time.monotonic()
    longest = limit("least_wait") + least / limit("freed_each_second")
    while least > floor and (now := time.monotonic()) - fell < limit("quiet") and now - began < longest:
        time.sleep(LOOK_EVERY_SECONDS)
        if (count := count_zombies(host)) < least:
            least, fell = count, time.monotonic()
    return least


def still_falling(host: Host) -> str:
    """Empty once freeing has ended, else that it has not."""
    before = count_zombies(host)
    if before <= noise_floor(host):
        return ""
    time.sleep(1)
    after = count_zombies(host)
    if after >= before * (1 - STILL_FALLING_RATIO):
        return ""
    return f"the kernel still frees zombies: {before:,} -> {after:,} in a second"
