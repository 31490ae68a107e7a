"""The wall: at how many tracked memory cgroups it hurts here, and when that will be.

It hurts where the first of some stated costs is reached (thresholds wall.*): the share of the machine's
memory that zombies take, and the time of one read of the statistics that kubelet reads. The second counts
only where such reads were measured to grow with zombies, which they do not on most kernels since 5.8.

There is no wall at 65,535: since Linux 4.7 a removed cgroup gives its id back, so that only cgroups in use
count against that limit.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.zombies.zombie_memory import ZombieMemory
from necroscope.model.amounts import time_text
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.memory_cgroups import HierarchyCount
from necroscope.sources.statistics_reads import StatisticsRead
from necroscope.statistics.theil_sen import FEWEST_POINTS, Trend

MINUTE = 60.0
FEWEST_SECONDS = 600  # of a trend that is carried on into the future
FEWEST_TRACKED = 500  # with fewer, a walk over all of them is lost in the noise of a read
WALK_RATIO, WALK_SECONDS = 3.0, 50e-6  # a read that walks takes so much longer than one that cannot


class Outlook(enum.Enum):
    """What can be said about the time to the wall."""

    BEYOND = "beyond"
    AHEAD = "ahead"
    NO_TREND = "no trend"
    FALLING = "falling"
    TOO_SHORT = "not recorded for long enough"
    NO_LEVEL = "no level is known"


@dataclass(frozen=True, slots=True)
class Cost:
    """One cost: what it is now, where it hurts, and at how many tracked cgroups that is."""

    id: str  # of the threshold
    now: float | None
    limit: float
    unit: str
    level: int | None  # None: it does not depend on zombies here, or that is not known
    why: str


@dataclass(frozen=True, slots=True)
class Wall:
    """The level that hurts first, and the seconds until then with their interval."""

    outlook: Outlook
    costs: tuple[Cost, ...]
    first: Cost | None
    now: float  # tracked cgroups
    seconds: float | None = None
    earliest_seconds: float | None = None
    latest_seconds: float | None = None


def find_costs(
    count: HierarchyCount,
    memory: ZombieMemory | None,
    memory_total_bytes: int | None,
    reads: Sequence[StatisticsRead],
    thresholds: Thresholds,
) -> tuple[Cost, ...]:
    """What zombies cost now, and at how many each cost reaches its limit."""
    return (
        memory_cost(count.in_use, memory, memory_total_bytes, thresholds["wall.memory_ratio"]),
        *(
            read_cost(count.tracked, read, thresholds["wall.read_seconds"])
            for read in reads
            if read.cgroup == "/"
        ),
    )


def find_wall(tracked: float, trend: Trend | None, costs: tuple[Cost, ...]) -> Wall:
    """Where the wall is and when it will be reached."""
    first = min((cost for cost in costs if cost.level is not None), key=lambda c: c.level or 0, default=None)
    if first is None or first.level is None:
        return Wall(Outlook.NO_LEVEL, costs, None, tracked)
    if tracked >= first.level:
        return Wall(Outlook.BEYOND, costs, first, tracked)
    if trend is None or trend.seconds < FEWEST_SECONDS:
        return Wall(Outlook.TOO_SHORT, costs, first, tracked)
    slope, room = trend.slope, max(first.level - trend.level, 0)
    if not slope.is_trend:
        return Wall(Outlook.NO_TREND, costs, first, trend.level)
    if slope.value < 0:
        return Wall(Outlook.FALLING, costs, first, trend.level)
    return Wall(
        Outlook.AHEAD, costs, first, trend.level, room / slope.value, room / slope.high, room / slope.low
    )


def memory_cost(in_use: int, memory: ZombieMemory | None, total_bytes: int | None, limit: float) -> Cost:
    """Zombies' share of the machine's memory."""
    if memory is None or not total_bytes:
        unknown = "what a zombie takes on this kernel" if total_bytes else "the machine's memory"
        why = f"{unknown} is not known"
        return Cost("wall.memory_ratio", None, limit, "ratio", None, why)
    level = in_use + int(limit * total_bytes / memory.bytes_each)
    why = f"{memory.bytes_each / 1024:.0f} KiB each, {memory.how}"
    return Cost("wall.memory_ratio", memory.total_bytes / total_bytes, limit, "ratio", level, why)


def read_cost(tracked: int, read: StatisticsRead, limit: float) -> Cost:
    """One read of a statistics file of the root."""

    def cost(level: int | None, why: str) -> Cost:
        return Cost("wall.read_seconds", read.seconds, limit, "seconds", level, f"{read.name} {why}")

    if read.leaf_seconds is None:
        return cost(None, "cannot be compared: there is no cgroup without children")
    walk_seconds = read.seconds - read.leaf_seconds
    if read.seconds > WALK_RATIO * read.leaf_seconds and walk_seconds > WALK_SECONDS:
        each = walk_seconds / tracked
        return cost(
            tracked + int((limit - read.seconds) / each),
            f"takes {each * 1e6:.2g} us for each tracked cgroup",
        )
    if tracked < FEWEST_TRACKED:
        return cost(None, f"may get slower with zombies: {tracked} cgroups are too few to tell")
    return cost(None, "does not get slower with zombies on this kernel")


def reached_text(wall: Wall) -> str:
    """When the wall is reached, or why that cannot be said."""
    match wall.outlook:
        case Outlook.AHEAD:
            early, late = time_text(wall.earliest_seconds or 0), time_text(wall.latest_seconds or 0)
            return f"in {time_text(wall.seconds or 0)} ({early} to {late}) if it goes on like this"
        case Outlook.BEYOND:
            return "already"
        case Outlook.NO_TREND:
            return "no trend: the interval of the slope contains zero"
        case Outlook.FALLING:
            return "not in sight: the number is falling"
        case Outlook.TOO_SHORT:
            wanted = time_text(FEWEST_SECONDS)
            return f"not known: it needs {wanted} of recording or more (necroscope record)"
        case Outlook.NO_LEVEL:
            return "not known: no cost has a level here"


def rate_text(trend: Trend | None) -> str:
    """How fast a count grows, with its interval."""
    if trend is None:
        return f"not known with fewer than {FEWEST_POINTS} readings"
    slope = trend.slope
    if not slope.is_trend:
        return "no trend"
    value, low, high = (x * MINUTE for x in (slope.value, slope.low, slope.high))
    return f"{_signed(value)} a minute ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    """Three digits, and never as a power of ten."""
    return f"{value:+,.0f}" if abs(value) >= 1000 else f"{value:+.3g}"
