"""Which seconds a window is compared with: the quiet ones around it.

The rule: whole seconds of the same recording and boot, at most ten minutes before a window, the nearest
first, 120 at most; where there are fewer, those after it too. How many come after depends on when one asks,
and trouble that has begun often goes on. Left out are the windows themselves; the 5 s before and the second
after every event but restarts of units, leaked cgroups and marks, which say nothing about a core; and the
time in which a core was saturated, by its counters or by an event, with the second after it, unless other
cores were asked for. What has no samples on any core was not captured, and is no quiet second.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from necroscope.model.event import Event
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.cpu_saturation import SaturationRule
from necroscope.signals.saturated_seconds import kernel_seconds, runs_in
from necroscope.signals.thresholds import Thresholds
from necroscope.store.segment import SEAM_NS
from necroscope.store.store import StoredSegment

FARTHEST = 600  # seconds from a window
MOST = 120
BEFORE_NS, AFTER_NS = 5 * SECOND_NS, SECOND_NS
Span = tuple[int, int]
HARMLESS = frozenset({"unit-restart", "cgroup-leak", "user-mark"})


def quiet_seconds(
    segments: Sequence[StoredSegment],
    windows: Sequence[Span],
    events: Sequence[Event],
    cores: Sequence[int],
    thresholds: Thresholds,
) -> list[int]:
    """Where the quiet seconds around some windows begin, in order; all times on the recording's clock."""
    recorded = _recorded(segments)
    saturated = [
        span for reach in _reaches(windows) for span in _saturated(segments, reach, cores, thresholds)
    ]
    taken = _merged([*windows, *_disturbed(events, cores), *saturated])
    chosen: list[Span] = []
    for start_ns in _nearest_first(windows):
        second = start_ns, start_ns + SECOND_NS
        if _is_within(second, recorded) and not _touches(second, taken) and not _touches(second, chosen):
            chosen.insert(bisect(chosen, second), second)
            if len(chosen) == MOST:
                break
    return [begin_ns for begin_ns, _ in chosen]


def _nearest_first(windows: Sequence[Span]) -> Iterator[int]:
    for distance in range(1, FARTHEST + 1):
        for begin_ns, _ in windows:
            yield begin_ns - distance * SECOND_NS
    for distance in range(FARTHEST):
        for _, end_ns in windows:
            yield end_ns + distance * SECOND_NS


def _reaches(windows: Sequence[Span]) -> list[Span]:
    """All time that is near enough to a window."""
    reach_ns = FARTHEST * SECOND_NS
    return _merged((begin_ns - reach_ns, end_ns + reach_ns) for begin_ns, end_ns in windows)


def _disturbed(events: Sequence[Event], cores: Sequence[int]) -> Iterator[Span]:
    for event in events:
        elsewhere = event.kind == "core-saturated" and cores and event.core not in cores
        if event.kind not in HARMLESS and not elsewhere:
            length_ns = int((event.seconds or 0) * SECOND_NS)
            # A saturated core is told from its first second on.
            before_ns = 0 if event.kind == "core-saturated" else BEFORE_NS
            yield event.time_ns - before_ns, event.time_ns + length_ns + AFTER_NS


def _recorded(segments: Sequence[StoredSegment]) -> list[Span]:
    """The stretches with samples; segments that follow each other are one."""
    own = [
        (segment.begin_ns - segment.offset_ns, segment.end_ns - segment.offset_ns)
        for segment in segments
        if segment.has_profile
    ]
    return _merged(own, SEAM_NS)


def _merged(spans: Iterable[Span], seam_ns: int = 0) -> list[Span]:
    """Spans in order, of which none overlaps another: a long one may have begun before many short ones."""
    merged: list[Span] = []
    for begin_ns, end_ns in sorted(spans):
        if merged and begin_ns - merged[-1][1] <= seam_ns:
            merged[-1] = merged[-1][0], max(merged[-1][1], end_ns)
        else:
            merged.append((begin_ns, end_ns))
    return merged


def _touches(second: Span, spans: Sequence[Span]) -> bool:
    """Whether a second overlaps one of some spans, which are in order and apart from each other."""
    place = bisect_left(spans, (second[1],))  # the first that begins too late
    return place > 0 and spans[place - 1][1] > second[0]


def _is_within(second: Span, spans: Sequence[Span]) -> bool:
    """Whether a second lies in one of them."""
    place = bisect_left(spans, (second[0] + 1,))
    return place > 0 and spans[place - 1][1] >= second[1]


def _saturated(
    segments: Sequence[StoredSegment], reach: Span, cores: Sequence[int], thresholds: Thresholds
) -> Iterator[Span]:
    """Runs of some cores (none: of any) as long as `core-saturated` wants them, and those that are cut off.

    The events `core-saturated` say the same, but late: of a run that goes on, the length is reported again
    only when it has doubled. How long a run is that reaches the end of what is recorded, nobody knows yet.
    The second before and after a run are added, in which it began and ended. Times on the recording's clock.
    """
    rule = SaturationRule.of(thresholds)
    # Segments that cannot be read tell nothing here; their events still do.
    seconds = kernel_seconds([*map(_on_its_clock, segments)], *reach, rule)
    for run in runs_in(seconds, replace(rule, seconds=0)):
        if (not cores or run.cpu in cores) and (run.is_cut or rule.is_long(run)):
            yield run.begin_ns - SECOND_NS, run.end_ns + SECOND_NS


def _on_its_clock(segment: StoredSegment) -> StoredSegment:
    """The segment with its own times in place of UTC: the wall clock may have been set between two."""
    offset_ns = segment.offset_ns
    return replace(
        segment, begin_ns=segment.begin_ns - offset_ns, end_ns=segment.end_ns - offset_ns, offset_ns=0
    )
