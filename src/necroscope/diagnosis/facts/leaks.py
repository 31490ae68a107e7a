"""Who leaks memory cgroups, which units are started again and again, and whether one comes of the other."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from necroscope.diagnosis.scene import Scene
from necroscope.recording.segment import Timed
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup, owner_of
from necroscope.sources.units import UNITS

ALIKE = 0.8  # leaks per restart, or restarts per leak: so close to one that it can hardly be chance
RESTARTS_TO_TELL = 5


@dataclass(frozen=True, slots=True)
class Loop:
    """A unit that was started again, and how often between two readings."""

    unit: str
    restarts: int
    minutes: float
    steps: tuple[tuple[int, int, int], ...]  # from, to, restarts

    @property
    def per_minute(self) -> float:
        """Restarts a minute."""
        return self.restarts / self.minutes


@dataclass(frozen=True, slots=True)
class Owner:
    """Who leaked: a unit, or a program where there is no unit."""

    name: str
    leaked: int
    minutes: float
    group: LedgerGroup  # the largest
    lost: int  # events that the ledger never saw

    @property
    def per_minute(self) -> float:
        """Leaked cgroups a minute."""
        return self.leaked / self.minutes


def find_owners(scene: Scene, end_ns: int) -> list[Owner]:
    """Who leaked memory cgroups until a time, the most first."""
    series = scene.segment.series(CGROUP_LEDGER)
    last = next(
        (timed for timed in reversed(series) if timed.time_ns <= end_ns), series[0] if series else None
    )
    if last is None:
        return []
    minutes = max((last.time_ns - last.value.began_ns) / 60e9, 1 / 60)
    counted: dict[str, list[LedgerGroup]] = defaultdict(list)
    for group in last.value.groups:
        counted[owner_of(group)].append(group)
    owners = [
        Owner(
            name,
            sum(group.zombies for group in groups),
            minutes,
            max(groups, key=lambda group: group.zombies),
            last.value.lost,
        )
        for name, groups in counted.items()
    ]
    return sorted((o for o in owners if o.leaked), key=lambda owner: -owner.leaked)


def find_loops(scene: Scene, end_ns: int) -> list[Loop]:
    """Units that were started again before a time, or before the first reading after it; most often first."""
    series = scene.segment.series(UNITS)
    later = [timed.time_ns for timed in series if timed.time_ns >= end_ns]
    series = [timed for timed in series if not later or timed.time_ns <= later[0]]
    rises: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for before, after in pairwise(series):
        counts = {unit.name: unit.restarts or 0 for unit in before.value}
        for unit in after.value:
            rise = (unit.restarts or 0) - counts.get(unit.name, unit.restarts or 0)
            if rise > 0:
                rises[unit.name].append((before.time_ns, after.time_ns, rise))
    minutes = max((series[-1].time_ns - series[0].time_ns) / 60e9, 1 / 60) if series else 1.0
    loops = [Loop(name, sum(r for *_, r in steps), minutes, tuple(steps)) for name, steps in rises.items()]
    least = scene.limit("unit-crash-loop.restarts")
    return sorted((loop for loop in loops if loop.restarts >= least), key=lambda loop: -loop.restarts)


def loop_behind(scene: Scene, owner: Owner | None, loops: list[Loop]) -> tuple[Loop | None, str]:
    """The unit whose restarts made the leak: it made the cgroups itself, or one comes with each restart."""
    if owner is None:
        return None, ""
    for loop in loops:
        if loop.unit == owner.group.creator_unit or _folded(loop.unit) == _folded(owner.name):
            return loop, "its own processes made them, or the path names it"
        if loop.unit == owner.group.remover_unit:
            return loop, "its own processes removed them"
    for loop in loops:
        per_restart = leaks_per_restart(scene, owner, loop)
        if per_restart and ALIKE <= per_restart <= 1 / ALIKE and loop.restarts >= RESTARTS_TO_TELL:
            return loop, f"one came with each restart; {owner.name or owner.group.creator} made them"
    return None, ""


def _folded(unit: str) -> str:
    """The name of a unit as the ledger has it, where the numbers of an instance are folded."""
    name, at, instance = unit.partition("@")
    return f"{name}{at}{re.sub('[0-9]+', '#', instance)}"


def leaks_per_restart(scene: Scene, owner: Owner, loop: Loop) -> float | None:
    """How many cgroups an owner leaked for each restart of a unit; None: not read often enough."""
    leaked = leaked_between(scene, owner.name, loop.steps[0][0], loop.steps[-1][1])
    return leaked / loop.restarts if leaked is not None else None


def leaked_between(scene: Scene, owner: str, begin_ns: int, end_ns: int) -> int | None:
    """How many an owner leaked between the readings of the ledger that are nearest to two times."""
    series = scene.segment.series(CGROUP_LEDGER)
    if len(series) < 2:
        return None
    first, last = (_nearest(series, time_ns) for time_ns in (begin_ns, end_ns))
    if first.time_ns == last.time_ns or first.value.began_ns != last.value.began_ns:
        return None
    return max(_zombies(last, owner) - _zombies(first, owner), 0)


def _nearest(series: list[Timed[CgroupLedger]], time_ns: int) -> Timed[CgroupLedger]:
    return min(series, key=lambda timed: abs(timed.time_ns - time_ns))


def _zombies(timed: Timed[CgroupLedger], owner: str) -> int:
    return sum(group.zombies for group in timed.value.groups if owner_of(group) == owner)
