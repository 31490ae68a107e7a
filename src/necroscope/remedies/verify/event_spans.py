"""Quantities of events and of saturated cores, in a recorded window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify.spans import Span, Spans
from necroscope.remedies.verify.windows import SECOND_NS, Window, pieces_of, recorded_parts
from necroscope.signals.core_states import MISSING, core_letters
from necroscope.signals.kernel_log_events import kernel_log_rules
from necroscope.signals.saturated_cores import GRACE_SECONDS
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, events_between

SAME_RESET_NS = 60 * SECOND_NS  # a stall, the reset and its failures are one
IN_KERNEL, OTHERWISE = "S", "."
LONGEST_NS = 6 * 3600 * SECOND_NS  # at once: letters of 96 cores are then 2 MB
COUNTED_SECONDS = 60  # a span of recorded time in which events are counted


def reset_spans(
    segments: Sequence[StoredSegment], window: Window, device: str, damaged: list[Damage]
) -> Spans:
    """Resets of network devices, those within a minute on one device taken as one; planned ones left out.

    The kernel log also tells of the time when nobody recorded; that is left out like any gap.
    """
    parts = recorded_parts(segments, window)
    if not parts:
        return Spans((), "nothing was recorded there")
    found = events_between(segments, TimeRange(window.begin_ns, window.end_ns), damaged)
    times = [at for at in _first_of_each(found, device) if any(part.holds(at) for part in parts)]
    return Spans(tuple(span for part in parts for span in _minutes(part, times)))


def _first_of_each(events: Sequence[StoredEvent], device: str) -> Iterator[int]:
    planned = {rule.id for rule in kernel_log_rules() if rule.cause == "planned"}
    last_ns: dict[str, int] = {}
    for stored in events:
        event: Event = stored.event
        if event.kind != "nic-reset" or event.phase == "done" or event.rule in planned:
            continue
        name = event.device or event.bus
        if device and name != device:
            continue
        before_ns, last_ns[name] = last_ns.get(name), stored.utc_ns
        if before_ns is None or stored.utc_ns - before_ns > SAME_RESET_NS:
            yield stored.utc_ns


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
    least = thresholds["core-saturated.seconds"] - GRACE_SECONDS
    rules = [(IN_KERNEL, "kernel", thresholds["core-saturated.kernel_ratio"]), (OTHERWISE, "any", 0.0)]
    begin_ns = window.begin_ns + -window.begin_ns % SECOND_NS
    end_ns = window.end_ns - window.end_ns % SECOND_NS
    spans: list[Span] = []
    for piece in pieces_of(Window(begin_ns, end_ns), LONGEST_NS):
        found = core_letters(segments, piece.begin_ns, piece.end_ns, SECOND_NS, rules)
        damaged.extend(found.damaged)
        rows = [row for number, row in found.states.items() if core in (None, number)]
        saturated = [sum(second) for second in zip(*(_long_runs(row, least) for row in rows), strict=True)]
        seen = [any(letter != MISSING for letter in second) for second in zip(*rows, strict=True)]
        spans += [
            Span(piece.begin_ns + place * SECOND_NS, 1.0, amount)
            for place, (amount, was_seen) in enumerate(zip(saturated, seen, strict=True))
            if was_seen
        ]
    return Spans(tuple(spans), "" if spans else "nothing was recorded there")


def _long_runs(row: str, least_seconds: float) -> list[bool]:
    """Whether each second of a core belongs to a run in the kernel that is long enough."""
    found: list[bool] = []
    for run in _runs(row):
        found += [run[0] == IN_KERNEL and len(run) >= least_seconds] * len(run)
    return found


def _runs(row: str) -> Iterator[str]:
    begin = 0
    for place in range(1, len(row) + 1):
        if place == len(row) or row[place] != row[begin]:
            yield row[begin:place]
            begin = place
