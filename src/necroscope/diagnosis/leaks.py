"""Who leaks memory cgroups, which units are started again and again, and whether one comes of the other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from necroscope.diagnosis.scene import Scene
from necroscope.model.time_range import TimeRange
from necroscope.signals.cgroup_leaks import groups_by_owner
from necroscope.signals.unit_restarts import Restarts, over
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup, leaked
from necroscope.store.segment import Timed

ALIKE = 0.8  # leaks per restart, or restarts per leak: so close to one that it can hardly be chance
RESTARTS_TO_TELL = 5


@dataclass(frozen=True, slots=True)
class Pace(TimeRange):
    """How often something came while it came: so many between two times."""

    count: int

    @property
    def per_minute(self) -> float:
        """The rate; a time of less than a second counts as one."""
        return self.count * 60 / max(self.seconds, 1.0)

    @property
    def words(self) -> str:
        """`over 15 s`, `over 10 min`."""
        return f"over {self.seconds:.0f} s" if self.seconds < 120 else f"over {self.seconds / 60:.0f} min"


@dataclass(frozen=True, slots=True)
class Loop:
    """A unit that was started again, and how often between two readings."""

    unit: str
    restarts: int
    pace: Pace  # while it was started again
    steps: tuple[Restarts, ...]


@dataclass(frozen=True, slots=True)
class Owner:
    """Who leaked: a unit, or a program where there is no unit."""

    name: str
    leaked: int  # since the ledger began, until `time_ns`
    time_ns: int
    began_ns: int  # the ledger
    pace: Pace  # while it leaked
    group: LedgerGroup  # the largest
    lost: int  # events that the ledger never saw


def find_owners(scene: Scene, end_ns: int) -> list[Owner]:
    """Who leaked memory cgroups until a time, the most first."""
    series = scene.segment.series(CGROUP_LEDGER)
    last = next(
        (timed for timed in reversed(series) if timed.time_ns <= end_ns), series[0] if series else None
    )
    if last is None:
        return []
    owners = [
        Owner(
            name,
            leaked(groups),
            last.time_ns,
            last.value.began_ns,
            _pace(series, last, name),
            max(groups, key=lambda group: group.zombies),
            last.value.lost,
        )
        for name, groups in groups_by_owner(last.value).items()
    ]
    return sorted((o for o in owners if o.leaked), key=lambda owner: -owner.leaked)


def _pace(series: list[Timed[CgroupLedger]], last: Timed[CgroupLedger], owner: str) -> Pace:
    """How fast an owner leaked by a ledger, until its last reading."""
    began_ns = last.value.began_ns
    of_one = [t for t in series if t.value.began_ns == began_ns and t.time_ns <= last.time_ns]
    return pace_of([(began_ns, 0), *((timed.time_ns, _leaked_by(timed, owner)) for timed in of_one)])


def find_loops(scene: Scene, end_ns: int) -> list[Loop]:
    """Units that were started again before a time, or before the first reading after it; most often first."""
    by_unit: dict[str, list[Restarts]] = defaultdict(list)
    for step in over(scene.segment):
        if step.count and step.begin_ns < end_ns:
            by_unit[step.unit.name].append(step)
    loops = [
        Loop(name, sum(step.count for step in steps), _pace_of_restarts(steps), tuple(steps))
        for name, steps in by_unit.items()
    ]
    least = scene.limit("unit-crash-loop.restarts")
    return sorted((loop for loop in loops if loop.restarts >= least), key=lambda loop: -loop.restarts)


def _pace_of_restarts(steps: list[Restarts]) -> Pace:
    """How often a unit was started again, while it was."""
    totals = accumulate(step.count for step in steps)
    counts = ((step.end_ns, total) for step, total in zip(steps, totals, strict=True))
    return pace_of([(steps[0].begin_ns, 0), *counts])


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
    number = leaked_between(scene, owner.name, loop.steps[0].begin_ns, loop.steps[-1].end_ns)
    return number / loop.restarts if number is not None else None


def leaked_between(scene: Scene, owner: str, begin_ns: int, end_ns: int) -> int | None:
    """How many an owner leaked between the readings of the ledger that are nearest to two times."""
    series = scene.segment.series(CGROUP_LEDGER)
    if len(series) < 2:
        return None
    first, last = (_nearest(series, time_ns) for time_ns in (begin_ns, end_ns))
    if first.time_ns == last.time_ns or first.value.began_ns != last.value.began_ns:
        return None
    return max(_leaked_by(last, owner) - _leaked_by(first, owner), 0)


def _nearest(series: list[Timed[CgroupLedger]], time_ns: int) -> Timed[CgroupLedger]:
    return min(series, key=lambda timed: abs(timed.time_ns - time_ns))


def _leaked_by(timed: Timed[CgroupLedger], owner: str) -> int:
    return leaked(groups_by_owner(timed.value).get(owner, ()))


def pace_of(counts: Sequence[tuple[int, int]]) -> Pace:
    """The pace of a count between the first and the last reading that saw it rise.

    A reading is a time, and how many there were until then. Quiet time before and after does not dilute it,
    nor does the part of the first interval in which it had not begun. Where only one reading saw a rise it
    is that interval.
    """
    rising = [n for n in range(1, len(counts)) if counts[n][1] > counts[n - 1][1]]
    if not rising:
        return Pace(counts[0][0], counts[-1][0], 0) if counts else Pace(0, 0, 0)
    first = rising[0] if len(rising) > 1 else rising[0] - 1
    (begin_ns, before), (end_ns, after) = counts[first], counts[rising[-1]]
    return Pace(begin_ns, end_ns, after - before)
