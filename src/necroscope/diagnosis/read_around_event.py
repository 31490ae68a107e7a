"""The scene of a recorded event: what the store has of the time around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from necroscope.diagnosis.culprit import find_culprits
from necroscope.diagnosis.scene import Rank, Scene
from necroscope.findings.unit_held_back import accidents_of
from necroscope.model.accident import Accident
from necroscope.model.culprit import Ranking
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
from necroscope.sources.cores import CORES
from necroscope.sources.held_back_units import HELD_BACK_UNITS
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.nic_counters import NIC_COUNTERS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.processes import PROCESSES
from necroscope.sources.reclaim import RECLAIM
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.softirqs import SOFTIRQS
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS
from necroscope.store.read_range import read_stretch
from necroscope.store.segment import Moment, Segment
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, events_between


@dataclass(frozen=True, slots=True)
class Reach:
    """Some sources, and how far around an event they are read."""

    sources: tuple[Source[Any], ...]
    before_ns: int
    after_ns: int


# Rates of leaks and restarts need minutes; what a core did, only the seconds around: a day of 96 cores
# would not fit into memory.
FAR = Reach(
    (MEMORY_CGROUPS, CGROUP_LEDGER, UNITS, HELD_BACK_UNITS, NIC_QUEUES), 600 * SECOND_NS, 120 * SECOND_NS
)
NEAR = Reach(
    (CORES, PROCESSES, SOFTIRQS, SOFTIRQ_THREADS, INTERRUPTS, NIC_COUNTERS, RECLAIM),
    75 * SECOND_NS,
    75 * SECOND_NS,
)


def recorded_scene(
    segments: Sequence[StoredSegment],
    stored: StoredEvent,
    thresholds: Thresholds,
    damaged: list[Damage],
) -> Scene | None:
    """What was recorded around an event of these segments; None where no counters were.

    Segments that cannot be read are added to `damaged`.
    """
    own = [segment for segment in segments if segment.boot_id == stored.segment.boot_id]
    near = _stretch(own, stored, NEAR, damaged)
    far = _stretch(own, stored, FAR, damaged)
    whole = near or far
    if whole is None:
        return None
    around_ns = FAR.before_ns
    events = events_between(own, TimeRange(stored.utc_ns - around_ns, stored.utc_ns + around_ns), damaged)
    moments = _merged(near.moments if near else (), far.moments if far else ())
    return Scene(
        replace(whole, moments=moments),
        tuple(one.event for one in events),
        thresholds,
        _rank(own, stored, events, thresholds),
        names={one.event: one.id for one in events},
    )


def accidents_between(
    segments: Sequence[StoredSegment], wanted: TimeRange, damaged: list[Damage]
) -> tuple[Accident, ...] | None:
    """Units that a failure kept from starting at the end of a range; None where it is not recorded."""
    for stretch in reversed(read_stretch(segments, wanted, (HELD_BACK_UNITS,), damaged)):
        held_back = stretch.last(HELD_BACK_UNITS)
        if held_back is not None:
            return accidents_of(held_back)
    return None


def _stretch(
    segments: Sequence[StoredSegment], stored: StoredEvent, reach: Reach, damaged: list[Damage]
) -> Segment | None:
    """The stretch that holds the event, if any."""
    wanted = TimeRange(stored.utc_ns - reach.before_ns, stored.utc_ns + reach.after_ns)
    stretches = read_stretch(segments, wanted, reach.sources, damaged)
    time_ns = stored.event.time_ns
    holding = [one for one in stretches if one.begin_ns - SECOND_NS <= time_ns <= one.end_ns + 5 * SECOND_NS]
    return holding[0] if holding else None


def _merged(near: Sequence[Moment], far: Sequence[Moment]) -> tuple[Moment, ...]:
    """The moments of two stretches of the same time, with the sources of both."""
    by_time = {moment.time_ns: moment for moment in near}
    for moment in far:
        other = by_time.get(moment.time_ns)
        by_time[moment.time_ns] = (
            Moment(
                moment.time_ns,
                {**other.readings, **moment.readings},
                {**other.cost_ns, **moment.cost_ns},
            )
            if other
            else moment
        )
    return tuple(by_time[time_ns] for time_ns in sorted(by_time))


def _rank(
    segments: Sequence[StoredSegment],
    stored: StoredEvent,
    events: Sequence[StoredEvent],
    thresholds: Thresholds,
) -> Rank:
    offset_ns = stored.segment.offset_ns

    def rank(begin_ns: int, end_ns: int, cores: tuple[int, ...]) -> Ranking:
        selection = Selection(
            begin_ns + offset_ns,
            end_ns + offset_ns,
            cpus=cores,
            boot_id=stored.segment.boot_id,
            offset_ns=offset_ns,
        )
        return find_culprits(segments, [selection], events, thresholds)

    return rank
