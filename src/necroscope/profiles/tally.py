"""Who ran in which kernel function in some seconds, across segments: what suspects are compared by."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from necroscope import _native
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.window import Selection, opened, touched
from necroscope.store.store import StoredSegment

CLOCKS = ("cycles", "cpu-clock")  # what samples time; a tracepoint counts something else
SLACK_NS = 2 * SECOND_NS  # samples may lie a little outside the first and last reading of their segment


@dataclass(frozen=True, slots=True)
class Row:
    """A process, a kernel function, or a process in a function: an empty name means any.

    Ways: "" all of a process, "kernel" that of it in the kernel, "self" in a function alone, "inclusive" in
    it and what it calls.
    """

    process: str
    function: str
    way: str
    counts: tuple[int, ...]  # samples in each second
    depth: float  # where in the stacks the function stands, on average; 0 is the outermost


@dataclass(frozen=True, slots=True)
class Tally:
    """Samples in seconds that begin at `starts_ns`, on the clock of the recording."""

    starts_ns: tuple[int, ...]
    here: tuple[int, ...]  # of the cores asked for, idle or not
    everywhere: tuple[int, ...]  # of any core
    counted: _native.Tally

    def rows(self, least: int) -> list[Row]:
        """All rows with at least so many samples in all seconds together."""
        return [
            Row(process, function, way, tuple(counts), depth / max(sum(counts), 1))
            for process, function, way, counts, depth in self.counted.rows(least)
        ]


def tally(segments: Sequence[StoredSegment], starts_ns: Sequence[int], cores: Sequence[int]) -> Tally:
    """Count the samples of segments of one boot in seconds that do not overlap, on some cores or all."""
    starts = sorted(starts_ns)
    counted = _native.Tally(starts, SECOND_NS)
    for segment in _touched(segments, starts):
        with opened(segment) as profile:
            counted.add(profile, _query(profile, starts, cores))
    here, everywhere = counted.totals
    return Tally(tuple(starts), tuple(here), tuple(everywhere), counted)


def _touched(segments: Sequence[StoredSegment], starts: Sequence[int]) -> list[StoredSegment]:
    """The segments that have any of the seconds; between two windows there may be hours."""
    found = []
    for segment in segments:
        begin_ns = segment.begin_ns - segment.offset_ns - SLACK_NS
        end_ns = segment.end_ns - segment.offset_ns + SLACK_NS
        place = bisect_left(starts, begin_ns)
        if place < len(starts) and starts[place] < end_ns:
            # The segment as a whole, by its own clock.
            found += touched([segment], Selection(segment.begin_ns, segment.end_ns + 1))
    return found


def _query(profile: _native.Profile, starts: Sequence[int], cores: Sequence[int]) -> _native.Query:
    clocks = [name for name in CLOCKS if any(event.split(":")[0] == name for event in profile.events)]
    return _native.Query(
        starts[0],
        starts[-1] + SECOND_NS,
        cpus=list(cores),
        processes=[],
        threads=[],
        events=clocks,  # none of them: an imported capture of something else, all of it counts
        idle=True,
    )
