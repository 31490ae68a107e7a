"""What is compared before and after a fix: a table, by id."""

from __future__ import annotations

import enum
from dataclasses import dataclass

HOUR, DAY = 3600.0, 86400.0


class Kind(enum.Enum):
    """How a quantity is judged; docs/verify.md has the reasons."""

    RATE = "rate"  # adds up second by second, in bursts
    GROWTH = "growth"  # a rate of something that may also become less
    EVENTS = "events"  # counted one by one
    LEVEL = "level"  # a number that is there, with no chance in it
    STATE = "state"  # a share of the time


@dataclass(frozen=True, slots=True)
class Quantity:
    """One thing that may get better. Less is better, of all of them."""

    id: str
    what: str
    unit: str
    per_seconds: float  # a rate is told per so many; 1 where it is none
    kind: Kind
    read_from: str
    pace_seconds: float  # between two readings
    floor: float  # not worth a word below this, in `unit`; `floor_why` says why
    floor_why: str
    is_rare: bool = False  # days are looked at, whatever the window is
    counted: str = ""  # what is one of them, where a reader may count otherwise


ZOMBIE_GROWTH = Quantity(
    id="zombie-growth",
    what="memory cgroups that become zombies",
    unit="cgroups/h",
    per_seconds=HOUR,
    kind=Kind.GROWTH,
    read_from="memory-cgroups",
    pace_seconds=1,
    floor=60,
    floor_why="one a minute, as `wall.leak_per_minute`: per-CPU stocks drift by less",
)
ZOMBIES = Quantity(
    id="zombies",
    what="zombie memory cgroups",
    unit="cgroups",
    per_seconds=1,
    kind=Kind.LEVEL,
    read_from="memory-cgroups",
    pace_seconds=1,
    floor=100,
    floor_why="per-CPU page batches and charge stocks keep some tens alive on any node",
)
SATURATED_CORE_SECONDS = Quantity(
    id="saturated-core-seconds",
    what="seconds of cores that were in the kernel for three in a row or longer",
    unit="core seconds/h",
    per_seconds=HOUR,
    kind=Kind.RATE,
    read_from="cores",
    pace_seconds=1,
    floor=36,
    floor_why="a hundredth of one core",
)
SOFTIRQ_DELAY = Quantity(
    id="softirq-delay",
    what="time that softirq threads were kept waiting",
    unit="seconds/h",
    per_seconds=HOUR,
    kind=Kind.RATE,
    read_from="softirq-threads",
    pace_seconds=1,
    floor=36,
    floor_why="a hundredth of one core: the scheduler's own turns are below it",
)
NIC_RESETS = Quantity(
    id="nic-resets",
    what="stalls and resets of network devices",
    unit="resets/day",
    per_seconds=DAY,
    kind=Kind.EVENTS,
    read_from="events",
    pace_seconds=1,
    floor=0,
    floor_why="each ends connections",
    is_rare=True,
    counted="lines of one device that follow closely are one",
)
THROTTLING = Quantity(
    id="throttling",
    what="time that cgroups were stopped by their CPU quota",
    unit="seconds/h",
    per_seconds=HOUR,
    kind=Kind.RATE,
    read_from="throttling",
    pace_seconds=60,
    floor=36,
    floor_why="a hundredth of one core",
)
RECLAIM = Quantity(
    id="reclaim",
    what="pages scanned by tasks that waited for memory",
    unit="pages/h",
    per_seconds=HOUR,
    kind=Kind.RATE,
    read_from="reclaim",
    pace_seconds=1,
    floor=36_000,
    floor_why="ten a second, a hundredth of what `reclaim-pressure` fires on",
)
UNIT_RESTARTS = Quantity(
    id="unit-restarts",
    what="automatic restarts of a unit",
    unit="restarts/h",
    per_seconds=HOUR,
    kind=Kind.EVENTS,
    read_from="units",
    pace_seconds=60,
    floor=0,
    floor_why="each is a failure",
)
UNIT_RUNS = Quantity(
    id="unit-runs",
    what="how much of the time a unit was running or being started",
    unit="ratio",
    per_seconds=1,
    kind=Kind.STATE,
    read_from="units",
    pace_seconds=60,
    floor=0,
    floor_why="it runs or it does not",
)

QUANTITIES: dict[str, Quantity] = {
    quantity.id: quantity
    for quantity in (
        ZOMBIE_GROWTH,
        ZOMBIES,
        SATURATED_CORE_SECONDS,
        SOFTIRQ_DELAY,
        NIC_RESETS,
        THROTTLING,
        RECLAIM,
        UNIT_RESTARTS,
        UNIT_RUNS,
    )
}
# Asked of a unit; the others are the machine's, or of a core, a device or a cgroup of it.
OF_UNITS = frozenset({UNIT_RESTARTS.id, UNIT_RUNS.id})
