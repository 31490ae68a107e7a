"""Quantities that sources count: what was added between two readings of a recorded window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from necroscope.errors import NecroscopeError
from necroscope.model.reading import Reading
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify.spans import Span, Spans
from necroscope.signals.cgroup_counts import Count, count_of, purges_in
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, MemoryCgroups
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS, Units
from necroscope.store.read_range import read_moments
from necroscope.store.segment import Moment, Step, Timed
from necroscope.store.store import Damage, StoredSegment

T = TypeVar("T")

LATE_SECONDS = 4.0  # a reading may come so much after its pace on a busy machine; later than that is a gap
ONCE = "it was read only once there"
NOT_STARTED = frozenset({"failed", "inactive", "maintenance"})
WAITS = "auto-restart"  # RestartSec= between two starts; newer ones add -queued


@dataclass(frozen=True, slots=True)
class Read(Timed[T]):
    """One value of a source, in UTC."""

    boot_id: str


def read_values(
    segments: Sequence[StoredSegment], window: TimeRange, source: Source[T], damaged: list[Damage]
) -> tuple[list[list[Read[T]]], str]:
    """The values of a source in a window, segment by segment; and where there are none, why."""
    found: list[list[Read[T]]] = []
    why = "nothing was recorded there"
    for segment in (segment for segment in segments if segment.overlaps(window)):
        readings: list[tuple[int, Reading[Any]]] = [
            (moment.time_ns + segment.offset_ns, moment.readings[source.id])
            for moment in _moments_of(segment, source, damaged)
            if source.id in moment.readings and _is_read_for(window, moment.time_ns + segment.offset_ns)
        ]
        why = next((reading.reason for _, reading in readings if reading.value is None), why)
        values = [
            Read(at, reading.value, segment.boot_id) for at, reading in readings if reading.value is not None
        ]
        if values:
            found.append(values)
    return found, "" if found else why


def _is_read_for(window: TimeRange, utc_ns: int) -> bool:
    """Whether a reading tells of a window: the one at its end says what came before that."""
    return window.contains(utc_ns) or utc_ns == window.end_ns


def _moments_of(segment: StoredSegment, source: Source[Any], damaged: list[Damage]) -> list[Moment]:
    try:
        return read_moments(segment, (source,))
    except NecroscopeError as error:
        damaged.append(Damage(segment.folder, error))
        return []


def counter_spans(
    segments: Sequence[StoredSegment],
    window: TimeRange,
    source: Source[T],
    added: Callable[[Step[T]], float],
    damaged: list[Damage],
) -> Spans:
    """What was added in every stretch between two readings."""
    series, why = read_values(segments, window, source, damaged)
    return _spans(_steps(series, source.pace_seconds), added, why)


def running_spans(
    segments: Sequence[StoredSegment], window: TimeRange, unit: str, damaged: list[Damage]
) -> Spans:
    """Seconds in which a unit ran, as its state was at the end of every stretch."""
    series, why = read_values(segments, window, UNITS, damaged)
    steps = _steps(series, UNITS.pace_seconds)
    return _spans(steps, lambda step: step.seconds * is_running(unit, step.after.value), why)


def growth_spans(segments: Sequence[StoredSegment], window: TimeRange, damaged: list[Damage]) -> Spans:
    """Zombies added, and those freed one by one. The seconds of a purge are left out like a gap."""
    series, why = read_values(segments, window, MEMORY_CGROUPS, damaged)
    purges = [purge for counts in counts_by_boot(series).values() for purge in purges_in(counts)]
    steps = (
        step
        for step in _steps(series, MEMORY_CGROUPS.pace_seconds)
        if not any(
            step.before.time_ns < purge.end_ns and step.after.time_ns > purge.begin_ns for purge in purges
        )
    )
    return _spans(steps, lambda step: step.after.value.memory.dying - step.before.value.memory.dying, why)


def counts_by_boot(series: Sequence[Sequence[Read[MemoryCgroups]]]) -> dict[str, list[Count]]:
    """The counts of every boot, in UTC."""
    counts: dict[str, list[Count]] = defaultdict(list)
    for read in (read for values in series for read in values):
        counts[read.boot_id].append(count_of(read.time_ns, read.value))
    return counts


def _spans(steps: Iterable[Step[T]], amount: Callable[[Step[T]], float], why: str) -> Spans:
    spans = tuple(Span(step.before.time_ns, step.seconds, amount(step)) for step in steps)
    return Spans(spans, why or ("" if spans else ONCE))


def _steps(series: Sequence[Sequence[Read[T]]], pace_seconds: float) -> Iterator[Step[T]]:
    for values in series:
        for before, after in pairwise(values):
            step: Step[T] = Step(before, after)
            if 0 < step.seconds <= pace_seconds + LATE_SECONDS:
                yield step


def is_running(name: str, units: Units) -> bool:
    """Whether a unit runs or is being started; one that is not listed is inactive.

    One that has failed and waits for its next start is "activating" to systemd, and does not run.
    """
    unit = next((unit for unit in units if unit.name == name), None)
    if unit is None or unit.active_state in NOT_STARTED:
        return False
    return not unit.sub_state.startswith(WAITS)
