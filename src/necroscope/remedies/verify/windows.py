"""The stretches of time before and after a change, and how much of each was recorded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from necroscope.model.time_range import TimeRange, merged
from necroscope.model.timestamp import SECOND_NS
from necroscope.store.store import StoredSegment

SLACK_NS = 3 * SECOND_NS // 2


def recorded_parts(segments: Sequence[StoredSegment], window: TimeRange) -> list[TimeRange]:
    """The parts of a window in which somebody recorded, in order and apart from each other."""
    return merged(
        TimeRange(max(one.begin_ns, window.begin_ns), min(one.end_ns, window.end_ns))
        for one in segments
        if one.overlaps(window)
    )


def recorded_seconds(segments: Sequence[StoredSegment], window: TimeRange) -> float:
    """How much of a window was recorded."""
    return math.fsum(part.seconds for part in recorded_parts(segments, window))


def first_seconds(segments: Sequence[StoredSegment], window: TimeRange, seconds: float) -> TimeRange:
    """The beginning of a window that holds so many recorded seconds; all of it where there are fewer.

    A recording that ends a moment later is taken whole: what is read once a minute is read at its end.
    """
    left_ns = int(seconds * 1e9)
    for part in recorded_parts(segments, window):
        length_ns = part.end_ns - part.begin_ns
        if length_ns >= left_ns:
            end_ns = part.end_ns if length_ns - left_ns < SLACK_NS else part.begin_ns + left_ns
            return TimeRange(window.begin_ns, end_ns)
        left_ns -= length_ns
    return window


def boots_in(segments: Sequence[StoredSegment], window: TimeRange) -> list[str]:
    """The boots that a window has something of, in the order of time."""
    return list(dict.fromkeys(segment.boot_id for segment in segments if segment.overlaps(window)))


def pieces_of(window: TimeRange, step_ns: int) -> Iterator[TimeRange]:
    """A long window in pieces that fit into memory."""
    for begin_ns in range(window.begin_ns, window.end_ns, step_ns):
        yield TimeRange(begin_ns, min(begin_ns + step_ns, window.end_ns))
