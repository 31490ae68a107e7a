"""All that is known of a host's zombie memory cgroups: how many, whose, what holds them, what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from necroscope.diagnosis.zombies.walk_time import WalkTime
from necroscope.diagnosis.zombies.wall import Outlook, Wall, find_costs, find_wall
from necroscope.diagnosis.zombies.zombie_memory import ZombieMemory, zombie_memory
from necroscope.model.examination import NotChecked
from necroscope.model.labels import Labels
from necroscope.model.reading import Absence, Reading
from necroscope.signals.cgroup_counts import Count, growth_of
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, Leak, older_zombies
from necroscope.sources.memory_cgroups import MemoryCgroups
from necroscope.sources.statistics_reads import HINTS, StatisticsRead
from necroscope.sources.zombie_pins import ZombiePins
from necroscope.statistics.theil_sen import Trend, trend_of

MINUTE = 60.0
NOT_ASKED: Reading[Any] = Reading(absence=Absence.SWITCHED_OFF, detail="only a live host can be asked")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of a host, live or from its recording; the times are of one boot."""

    labels: Labels
    time_ns: int  # of the last counts, UTC
    counts: MemoryCgroups
    long_series: Sequence[Count]  # for the trend: up to a day, or all that there is
    recent_series: Sequence[Count]  # for the rate: up to ten minutes
    ledger: Reading[CgroupLedger]
    ledger_time_ns: int  # when the ledger was read, on the clock of its boot
    leaks: Sequence[Leak] | None  # all that is left of them; None: not asked for
    pins: Reading[ZombiePins] = field(default=NOT_ASKED)
    reads: Reading[tuple[StatisticsRead, ...]] = field(default=NOT_ASKED)
    walks: WalkTime | str = "nothing is recorded"
    memory_total_bytes: int | None = None

    @property
    def dying_at_ledger(self) -> int:
        """The kernel's count nearest to the time of the ledger: a leak goes on after that."""
        near = min(self.recent_series, key=lambda c: abs(c.time_ns - self.ledger_time_ns), default=None)
        return near.dying if near else self.counts.memory.dying


@dataclass(frozen=True, slots=True)
class ZombieReport:
    """What follows from it."""

    seen: Seen
    older: int | None  # dying cgroups that the ledger does not know; None: there is no ledger
    rate: Trend | None  # of zombies, recently
    trend: Trend | None  # of tracked cgroups
    memory: ZombieMemory | None
    wall: Wall
    is_leaking: bool
    is_alarming: bool
    not_checked: tuple[NotChecked, ...]

    @property
    def ledger_seconds(self) -> float | None:
        """How long the ledger had been kept."""
        ledger = self.seen.ledger.value
        return (self.seen.ledger_time_ns - ledger.began_ns) / 1e9 if ledger else None


def zombie_report(seen: Seen, thresholds: Thresholds) -> ZombieReport:
    """Judge what was seen."""
    count = seen.counts.memory
    ledger = seen.ledger.value
    rate = growth_of(seen.recent_series)
    trend = trend_of([(c.time_ns / 1e9, float(c.tracked)) for c in seen.long_series])
    memory = zombie_memory(count.dying, seen.long_series, seen.labels.kernel, seen.labels.cores_possible)
    costs = find_costs(count, memory, seen.memory_total_bytes, seen.reads.value or (), thresholds)
    wall = find_wall(count.tracked, trend, costs)
    per_minute = rate.slope.value * MINUTE if rate and rate.slope.is_trend else 0.0
    is_leaking = per_minute >= thresholds["wall.leak_per_minute"]
    many = count.dying >= thresholds["zombie-memory-cgroups.warning"]
    return ZombieReport(
        seen=seen,
        older=older_zombies(seen.dying_at_ledger, ledger) if ledger else None,
        rate=rate,
        trend=trend,
        memory=memory,
        wall=wall,
        is_leaking=is_leaking,
        is_alarming=is_leaking or many or wall.outlook is Outlook.BEYOND,
        not_checked=tuple(_not_checked(seen)),
    )


def _not_checked(seen: Seen) -> list[NotChecked]:
    rows: list[NotChecked] = []
    if seen.ledger.absence:
        hint = CGROUP_LEDGER.hint(seen.ledger.absence)
        rows.append(NotChecked(CGROUP_LEDGER.id, seen.ledger.reason, hint, ("who leaks them",)))
    if seen.reads.absence:
        hint = HINTS.get(seen.reads.absence, "")
        rows.append(NotChecked("statistics-reads", seen.reads.reason, hint, ("the time of a read",)))
    if seen.pins.value is None:
        rows.append(NotChecked("zombie-pins", seen.pins.reason, "", ("what holds them",)))
    elif seen.pins.value.cgroups_read < seen.pins.value.cgroups_in_use and seen.counts.memory.version == 1:
        pins = seen.pins.value
        reason = f"only {pins.cgroups_read:,} of {pins.cgroups_in_use:,} cgroups were read: it took too long"
        rows.append(NotChecked("zombie-pins", reason, "", ("a part of what holds them",)))
    if isinstance(seen.walks, str):
        rows.append(NotChecked("profiles", seen.walks, "", ("the time of walks over cgroups",)))
    return rows
