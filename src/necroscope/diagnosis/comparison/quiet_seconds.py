"""Which seconds a window is compared with: the quiet ones around it.

The rule: whole seconds of the same recording and boot, at most ten minutes before or after a window, the
nearest first, 120 at most. Left out are the windows themselves; the 5 s before and the second after every
event but restarts of units, leaked cgroups and marks, which say nothing about a core; and the time in which
a core was saturated, with a second after it, unless other cores were asked for. What has no samples on any
core was not captured, and is no quiet second.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence

from necroscope.model.event import Event
from necroscope.recording.store import StoredSegment

SECOND_NS = 10**9
FARTHEST = 600  # seconds from a window
MOST = 120
BEFORE_NS, AFTER_NS = 5 * SECOND_NS, SECOND_NS
HARMLESS = frozenset({"unit-restart", "cgroup-leak", "user-mark"})
SEAM_NS = 3 * SECOND_NS // 2  # between the last reading of a segment and the first of the next

Span = tuple[int, int]


def quiet_seconds(
    segments: Sequence[StoredSegment], windows: Sequence[Span], events: Sequence[Event], cores: Sequence[int]
) -> list[int]:
    """Where the quiet seconds around some windows begin, in order; all times on the recording's clock."""
    recorded = _recorded(segments)
    taken = sorted([*windows, *_disturbed(events, cores)])
    chosen: list[Span] = []
    for start_ns in _nearest_first(windows):
        second = start_ns, start_ns + SECOND_NS
        if (
            any(begin_ns <= second[0] and second[1] <= end_ns for begin_ns, end_ns in recorded)
            and not any(_overlap(second, span) for span in taken)
            and _is_free(second, chosen)
        ):
            chosen.insert(bisect(chosen, second), second)
            if len(chosen) == MOST:
                break
    return [begin_ns for begin_ns, _ in chosen]


def _nearest_first(windows: Sequence[Span]) -> Iterator[int]:
    for distance in range(FARTHEST):
        for begin_ns, end_ns in windows:
            yield begin_ns - (distance + 1) * SECOND_NS
            yield end_ns + distance * SECOND_NS


def _disturbed(events: Sequence[Event], cores: Sequence[int]) -> Iterator[Span]:
    for event in events:
        elsewhere = event.kind == "core-saturated" and cores and event.core not in cores
        if event.kind not in HARMLESS and not elsewhere:
            length_ns = int((event.seconds or 0) * SECOND_NS)
            before_ns = (
                0 if event.kind == "core-saturated" else BEFORE_NS
            )  # it is told from its first second on
            yield event.time_ns - before_ns, event.time_ns + length_ns + AFTER_NS


def _recorded(segments: Sequence[StoredSegment]) -> list[Span]:
    """The stretches with samples; segments that follow each other are one."""
    own = sorted(
        (segment.begin_ns - segment.offset_ns, segment.end_ns - segment.offset_ns)
        for segment in segments
        if segment.has_profile
    )
    spans: list[Span] = []
    for begin_ns, end_ns in own:
        if spans and begin_ns - spans[-1][1] <= SEAM_NS:
            spans[-1] = spans[-1][0], max(spans[-1][1], end_ns)
        else:
            spans.append((begin_ns, end_ns))
    return spans


def _is_free(second: Span, chosen: Sequence[Span]) -> bool:
    """Whether none of the seconds that are chosen already, in order, overlaps."""
    place = bisect(chosen, second)
    return not any(_overlap(second, near) for near in chosen[max(place - 1, 0) : place + 1])


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
