"""How many memory cgroups there are: tracked by the kernel, in use, zombies; and how fast zombies grow.

The only place that makes counts of readings and a rate of counts. The recorder feeds samples; who looks at
recorded time calls `over`, `stored_counts` of a stored segment, or `recorded_counts` of a long range, for
which few of its segments are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from necroscope import _native
from necroscope.errors import NecroscopeError
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, MemoryCgroups
from necroscope.statistics.theil_sen import MOST_POINTS, Trend, is_drop, thinned, trend_of
from necroscope.store.read_range import read_moments
from necroscope.store.seal import COUNTERS
from necroscope.store.segment import Moment, Segment
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.store import StoredSegment, has_file

COLUMNS = ["time", "memory_tracked", "memory_in_use", "memory_dying", "percpu_bytes"]
KEEP_EVERY_NS = 10 * SECOND_NS  # of the live counts: the 1,830 slopes of 61 take 1 ms
PURGE_POINTS = 60


class Count(NamedTuple):
    """The memory cgroups at one moment, on the clock of its boot."""

    time_ns: int
    tracked: int
    in_use: int
    dying: int
    percpu_bytes: int | None


@dataclass(slots=True)
class CgroupCounts:
    """A fold over samples: the recent counts, one every ten seconds."""

    thresholds: Thresholds
    recent: deque[Count] = field(default_factory=deque)

    def feed(self, sample: Moment) -> Count | None:
        """Take the next sample and return its count. If counting failed, what was before is no longer now."""
        count = count_in(sample)
        if count is None:
            if MEMORY_CGROUPS.id in sample.readings:
                self.recent.clear()
            return None
        if not self.recent or count.time_ns - self.recent[-1].time_ns >= KEEP_EVERY_NS - SECOND_NS // 2:
            self.recent.append(count)
        while self.recent and count.time_ns - self.recent[0].time_ns > rate_ns(self.thresholds):
            self.recent.popleft()
        return count


def count_in(sample: Moment) -> Count | None:
    """Return the count of a sample, if it has one."""
    cgroups = sample.value(MEMORY_CGROUPS)
    return count_of(sample.time_ns, cgroups) if cgroups else None


def count_of(time_ns: int, cgroups: MemoryCgroups) -> Count:
    """Return a reading as a count."""
    memory = cgroups.memory
    return Count(time_ns, memory.tracked, memory.in_use, memory.dying, cgroups.percpu_bytes)


def counts_in(samples: Iterable[Moment]) -> list[Count]:
    """Return the counts of samples, in their order."""
    return [count for sample in samples if (count := count_in(sample))]


def over(segment: Segment) -> list[Count]:
    """Return the counts of a recorded segment."""
    return counts_in(segment.moments)


def rate_ns(thresholds: Thresholds) -> int:
    """Return how far back the growth of now goes."""
    return int(thresholds["wall.rate_seconds"] * SECOND_NS)


def growth_of(counts: Iterable[Count]) -> Trend | None:
    """Return how fast zombies grow, since the last purge; None if too few counts are known."""
    points = [(count.time_ns / 1e9, float(count.dying)) for count in counts]
    return trend_of(points) if points else None


def purges_in(counts: Sequence[Count]) -> list[TimeRange]:
    """Return when many zombies went at once. Few of the counts are looked at, since a purge takes seconds."""
    few = pairwise(thinned(counts, PURGE_POINTS))
    return [TimeRange(one.time_ns, next_.time_ns) for one, next_ in few if is_drop(one.dying, next_.dying)]


def stored_counts(segment: StoredSegment) -> list[Count]:
    """Return all counts of a stored segment, in order. StoreError or CannotLookError: it cannot be read."""
    if segment.is_open:
        return counts_in(read_moments(segment, (MEMORY_CGROUPS,)))
    # Straight from the table: to make moments of it takes ten times as long.
    name = f"{COUNTERS}/{MEMORY_CGROUPS.id}.parquet"
    if not has_file(segment, name):
        return []
    try:
        columns = _native.read_table(segment.folder / name, COLUMNS)
    except OSError as error:
        raise unreadable_file(segment.folder / name, error) from error
    return list(map(Count, *(columns[column] for column in COLUMNS))) if len(columns) == len(COLUMNS) else []


def counts_of(segment: StoredSegment) -> list[Count]:
    """Return the counts of a stored segment; none if it cannot be read, since its neighbours have some."""
    try:
        return stored_counts(segment)
    except (OSError, NecroscopeError):
        return []


def recorded_counts(
    segments: Sequence[StoredSegment],
    wanted: TimeRange,
    read: Callable[[StoredSegment], list[Count]] = counts_of,
) -> list[Count]:
    """Return at most as many counts of a range as a trend needs, evenly chosen; segments of one boot."""
    inside = [segment for segment in segments if segment.overlaps(wanted)]
    chosen = thinned(inside)
    counts: list[Count] = []
    for segment in chosen:
        here = [count for count in read(segment) if wanted.contains(count.time_ns + segment.offset_ns)]
        counts += thinned(here, max(MOST_POINTS // len(chosen), 1))
    return sorted(set(counts))  # the last moment of a segment is also the first of the next
