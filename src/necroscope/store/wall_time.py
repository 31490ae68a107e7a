"""What time of day a recorded second was, when the wall clock was wrong at first.

A machine often boots with a wrong clock, and NTP sets it minutes later. Segments that were recorded while
the kernel did not hold its clock to be right get their time of day from the newest one of the same boot that
was: CLOCK_BOOTTIME joins the two. All others keep the time that the clock showed when they were recorded,
also when somebody sets it afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from necroscope.store.store import StoredSegment


def with_right_clocks(segments: Sequence[StoredSegment]) -> list[StoredSegment]:
    """The same segments; those recorded under a wrong clock moved to where they belong."""
    right: dict[str, tuple[int, int]] = {}  # by boot: when it was known, UTC minus CLOCK_BOOTTIME
    for segment in segments:
        clock = segment.description.clock
        if segment.boot_id and clock.synchronised:
            known = segment.begin_ns - segment.offset_ns, segment.offset_ns - clock.suspended_ns
            right[segment.boot_id] = max(right.get(segment.boot_id, known), known)
    return [_moved(segment, right) for segment in segments]


def _moved(segment: StoredSegment, right: dict[str, tuple[int, int]]) -> StoredSegment:
    clock = segment.description.clock
    if clock.synchronised is not False or segment.boot_id not in right:
        return segment
    offset_ns = right[segment.boot_id][1] + clock.suspended_ns
    moved_ns = offset_ns - segment.offset_ns
    return replace(
        segment,
        begin_ns=segment.begin_ns + moved_ns,
        end_ns=segment.end_ns + moved_ns,
        offset_ns=offset_ns,
    )
