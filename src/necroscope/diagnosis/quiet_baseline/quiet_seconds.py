"""Which seconds a window is compared with: the quiet ones around it.

The rule: whole seconds of the same recording and boot, at most ten minutes before a window, the nearest
first, 120 at most; where there are fewer, those after it too. How many come after depends on when one asks,
and trouble that has begun often goes on. Left out are the windows themselves; the 5 s before and the second
after every event but restarts of units, leaked cgroups and marks, which say nothing about a core; and the
time in which a core was saturated, by its counters or by an event, with the second after it, unless other
cores were asked for. What has no samples on any core was not captured, and is no quiet second.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import replace

from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange, merged
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.cpu_saturation import SaturationRule
from necroscope.signals.saturated_seconds import kernel_seconds, runs_in
from necroscope.signals.thresholds import Thresholds
from necroscope.store.segment import SEAM_NS
from necroscope.store.store import StoredSegment

FARTHEST = 600  # seconds from a window
MOST = 120
BEFORE_NS, AFTER_NS = 5 * SECOND_NS, SECOND_NS
HARMLESS = frozenset({"unit-restart", "cgroup-leak", "user-mark"})


def quiet_seconds(
    segments: Sequence[StoredSegment],
    windows: Sequence[TimeRange],
    events: Sequence[Event],
    cores: Sequence[int],
    thresholds: Thresholds,
) -> list[int]:
    """Where the quiet seconds around some windows begin, in order; all times on the recording's clock."""
    recorded = _recorded(segments)
    near = merged(window.widened(FARTHEST * SECOND_NS) for window in windows)
    saturated = [run for reach in near for run in _saturated(segments, reach, cores, thresholds)]
    taken = merged([*windows, *_disturbed(events, cores), *saturated])
    chosen: list[TimeRange] = []
    for start_ns in _nearest_first(windows):
        second = TimeRange(start_ns, start_ns + SECOND_NS)
        if _is_within(second, recorded) and not _touches(second, taken) and not _touches(second, chosen):
            insort(chosen, second, key=_begin)
            if len(chosen) == MOST:
                break
    return [second.begin_ns for second in chosen]


def _nearest_first(windows: Sequence[TimeRange]) -> Iterator[int]:
    for distance in range(1, FARTHEST + 1):
        for window in windows:
            yield window.begin_ns - distance * SECOND_NS
    for distance in range(FARTHEST):
        for window in windows:
            yield window.end_ns + distance * SECOND_NS


def _disturbed(events: Sequence[Event], cores: Sequence[int]) -> Iterator[TimeRange]:
    for event in events:
        elsewhere = event.kind == "core-saturated" and cores and event.core not in cores
        if event.kind not in HARMLESS and not elsewhere:
            length_ns = int((event.seconds or 0) * SECOND_NS)
            # A saturated core is told from its first second on.
            before_ns = 0 if event.kind == "core-saturated" else BEFORE_NS
            yield TimeRange(event.time_ns - before_ns, event.time_ns + length_ns + AFTER_NS)


def _recorded(segments: Sequence[StoredSegment]) -> list[TimeRange]:
    """The stretches with samples; segments that follow each other are one."""
    own = (
        TimeRange(segment.begin_ns - segment.offset_ns, segment.end_ns - segment.offset_ns)
        for segment in segments
        if segment.has_profile
    )
    return merged(own, SEAM_NS)


def _touches(second: TimeRange, ranges: Sequence[TimeRange]) -> bool:
    """Whether a second overlaps one of some ranges, which are in order and apart from each other."""
    place = bisect_left(ranges, second.end_ns, key=_begin)  # the first that begins too late
    return place > 0 and ranges[place - 1].end_ns > second.begin_ns


def _is_within(second: TimeRange, ranges: Sequence[TimeRange]) -> bool:
    """Whether a second lies in one of them."""
    place = bisect_left(ranges, second.begin_ns + 1, key=_begin)
    return place > 0 and ranges[place - 1].end_ns >= second.end_ns


def _begin(one: TimeRange) -> int:
    return one.begin_ns


def _saturated(
    segments: Sequence[StoredSegment], reach: TimeRange, cores: Sequence[int], thresholds: Thresholds
) -> Iterator[TimeRange]:
    """Runs of some cores (none: of any) as long as `core-saturated` wants them, and those that are cut off.

    The events `core-saturated` say the same, but late: of a run that goes on, the length is reported again
    only when it has doubled. How long a run is that reaches the end of what is recorded, nobody knows yet.
    The second before and after a run are added, in which it began and ended. Times on the recording's clock.
    """
    rule = SaturationRule.of(thresholds)
    # Segments that cannot be read tell nothing here; their events still do.
    seconds = kernel_seconds([*map(_on_its_clock, segments)], reach.begin_ns, reach.end_ns, rule)
    for run in runs_in(seconds, replace(rule, seconds=0)):
        if (not cores or run.cpu in cores) and (run.is_cut or rule.is_long(run)):
            yield TimeRange(run.begin_ns, run.end_ns).widened(SECOND_NS)


def _on_its_clock(segment: StoredSegment) -> StoredSegment:
    """The segment with its own times in place of UTC: the wall clock may have been set between two."""
    offset_ns = segment.offset_ns
    return replace(
        segment, begin_ns=segment.begin_ns - offset_ns, end_ns=segment.end_ns - offset_ns, offset_ns=0
    )
