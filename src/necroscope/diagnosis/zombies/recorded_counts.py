"""Counts of memory cgroups over a long recorded range, read from few of its segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from necroscope import _native
from necroscope.errors import StoreError
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.statistics.theil_sen import MOST_POINTS, thinned
from necroscope.store.read_range import read_moments
from necroscope.store.seal import COUNTERS
from necroscope.store.store import StoredSegment

COLUMNS = ["time", "memory_tracked", "memory_in_use", "memory_dying", "percpu_bytes"]


class Count(NamedTuple):
    """One recorded moment, on the clock of its boot."""

    time_ns: int
    tracked: int
    in_use: int
    dying: int
    percpu_bytes: int | None


def counts_of(segment: StoredSegment) -> list[Count]:
    """All moments of a segment, in order; none where it is damaged: its neighbours tell as well."""
    try:
        return _open_counts(segment) if segment.is_open else _sealed_counts(segment)
    except (OSError, StoreError):
        return []


def recorded_counts(
    segments: Sequence[StoredSegment],
    begin_ns: int,
    end_ns: int,
    read: Callable[[StoredSegment], list[Count]] = counts_of,
) -> list[Count]:
    """At most so many moments of a range (UTC) as a trend looks at, evenly chosen; segments of one boot."""
    inside = [s for s in segments if s.begin_ns < end_ns and s.end_ns >= begin_ns]
    chosen = thinned(inside)
    counts: list[Count] = []
    for segment in chosen:
        wanted = [c for c in read(segment) if begin_ns <= c.time_ns + segment.offset_ns < end_ns]
        counts += thinned(wanted, max(MOST_POINTS // len(chosen), 1))
    return sorted(set(counts))  # the last moment of a segment is also the first of the next


def _open_counts(segment: StoredSegment) -> list[Count]:
    found = [
        (m.time_ns, m.readings[MEMORY_CGROUPS.id].value) for m in read_moments(segment, (MEMORY_CGROUPS,))
    ]
    return [
        Count(time_ns, value.memory.tracked, value.memory.in_use, value.memory.dying, value.percpu_bytes)
        for time_ns, value in found
        if value is not None
    ]


def _sealed_counts(segment: StoredSegment) -> list[Count]:
    """Straight from the table: to make moments of it takes ten times as long."""
    path = segment.folder / COUNTERS / f"{MEMORY_CGROUPS.id}.parquet"
    if not path.exists():
        return []
    columns = _native.read_table(path, COLUMNS)
    return list(map(Count, *(columns[name] for name in COLUMNS)))
