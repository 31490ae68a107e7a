"""Quantities of events and of saturated cores, in a recorded window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.remedies.verify.spans import Span, Spans
from necroscope.remedies.verify.windows import Window, pieces_of, recorded_parts
from necroscope.signals.core_states import MISSING
from necroscope.signals.cpu_saturation import SaturationRule
from necroscope.signals.episodes import over_stored
from necroscope.signals.saturated_seconds import kernel_seconds, runs_in
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import events_between

LONGEST_NS = 6 * 3600 * SECOND_NS  # at once: letters of 96 cores are then 2 MB
COUNTED_SECONDS = 60  # a span of recorded time in which events are counted


def reset_spans(
    segments: Sequence[StoredSegment],
    window: Window,
    device: str,
    thresholds: Thresholds,
    damaged: list[Damage],
) -> Spans:
    """Return the reset episodes of network devices, without planned ones.

    The kernel log also reports the time when nobody recorded; that is left out like any gap.
    """
    parts = recorded_parts(segments, window)
    if not parts:
        return Spans((), "nothing was recorded there")
    stored = events_between(segments, TimeRange(window.begin_ns, window.end_ns), damaged)
    resets = [one for one in stored if one.event.kind == "nic-reset"]
    times = [
        first.utc_ns
        for episode, first in over_stored(resets, thresholds)
        if episode.reason != "planned" and device in ("", first.event.device or first.event.bus)
    ]
    recorded = [at for at in times if any(part.holds(at) for part in parts)]
    return Spans(tuple(span for part in parts for span in _minutes(part, recorded)))


def _minutes(part: Window, times: Sequence[int]) -> Iterator[Span]:
    for piece in pieces_of(part, COUNTED_SECONDS * SECOND_NS):
        count = sum(piece.begin_ns <= at < piece.end_ns or at == piece.end_ns == part.end_ns for at in times)
        yield Span(piece.begin_ns, (piece.end_ns - piece.begin_ns) / 1e9, count)


def saturated_spans(
    segments: Sequence[StoredSegment],
    window: Window,
    core: int | None,
    thresholds: Thresholds,
    damaged: list[Damage],
) -> Spans:
    """Seconds of cores in the kernel, of runs as long as the detector core-saturated asks for."""
    rule = SaturationRule.of(thresholds)
    begin_ns = window.begin_ns + -window.begin_ns % SECOND_NS
    end_ns = window.end_ns - window.end_ns % SECOND_NS
    spans: list[Span] = []
    for piece in pieces_of(Window(begin_ns, end_ns), LONGEST_NS):
        found = kernel_seconds(segments, piece.begin_ns, piece.end_ns, rule)
        damaged.extend(found.damaged)
        if core is not None:
            found = replace(found, states={n: row for n, row in found.states.items() if n == core})
        saturated = Counter(
            at for run in runs_in(found, rule) for at in range(run.begin_ns, run.end_ns, SECOND_NS)
        )
        seconds = enumerate(zip(*found.states.values(), strict=True))
        seen = [piece.begin_ns + n * SECOND_NS for n, letters in seconds if set(letters) != {MISSING}]
        spans += [Span(at, 1.0, saturated[at]) for at in seen]
    return Spans(tuple(spans), "" if spans else "nothing was recorded there")
