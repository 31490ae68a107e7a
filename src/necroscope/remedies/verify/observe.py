"""What a window shows of a quantity, whatever it is read from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.remedies.verify import quantities
from necroscope.remedies.verify.counter_spans import (
    counter_spans,
    counts_by_boot,
    growth_spans,
    read_values,
    running_spans,
)
from necroscope.remedies.verify.quantities import Quantity
from necroscope.remedies.verify.spans import Span, Spans
from necroscope.remedies.verify.windows import pieces_of, recorded_parts
from necroscope.signals.core_states import MISSING
from necroscope.signals.cpu_saturation import SaturationRule
from necroscope.signals.episodes import over_stored
from necroscope.signals.reclaim import reclaimed_in
from necroscope.signals.saturated_seconds import kernel_seconds, runs_in
from necroscope.signals.softirq_delay import delays_in
from necroscope.signals.thresholds import Thresholds
from necroscope.signals.throttling import throttled_in
from necroscope.signals.unit_restarts import restarts_in
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.reclaim import RECLAIM
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThreads
from necroscope.sources.throttling import THROTTLING, Throttling
from necroscope.sources.units import UNITS, Units
from necroscope.store.segment import Step
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import events_between

LONGEST_NS = 6 * 3600 * SECOND_NS  # at once: letters of 96 cores are then 2 MB
COUNTED_SECONDS = 60  # a span of recorded time in which events are counted
LAST = 5  # readings whose median is a level: one alone may have met a removal half done


@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded segments of a host, and what of them could not be read."""

    segments: Sequence[StoredSegment]
    thresholds: Thresholds
    damaged: list[Damage]


@dataclass(frozen=True, slots=True)
class Level:
    """A number as it stood at the end of a window."""

    value: float
    utc_ns: int
    boot_id: str
    seconds: float  # that the window shows of it


def observe(quantity: Quantity, subject: str, recording: Recording, window: TimeRange) -> Spans:
    """All that was recorded of a quantity that adds up, or of a state. Levels have `observe_level`."""
    return _OBSERVERS[quantity.id](recording, window, subject)


def observe_level(recording: Recording, window: TimeRange) -> Level | str:
    """How many zombies there were at the end of a window, or why that is not known."""
    series, why = read_values(recording.segments, window, MEMORY_CGROUPS, recording.damaged)
    if why:
        return why
    boot_id = series[-1][-1].boot_id
    counts = counts_by_boot(series)[boot_id]
    value, last_ns = median(count.dying for count in counts[-LAST:]), counts[-1].time_ns
    return Level(value, last_ns, boot_id, (last_ns - counts[0].time_ns) / 1e9)


def _reset_spans(recording: Recording, window: TimeRange, device: str) -> Spans:
    """Return the reset episodes of network devices, without planned ones.

    The kernel log also reports the time when nobody recorded; that is left out like any gap.
    """
    parts = recorded_parts(recording.segments, window)
    if not parts:
        return Spans((), "nothing was recorded there")
    stored = events_between(recording.segments, window, recording.damaged)
    resets = [one for one in stored if one.event.kind == "nic-reset"]
    times = [
        first.utc_ns
        for episode, first in over_stored(resets, recording.thresholds)
        if episode.reason != "planned" and device in ("", first.event.device or first.event.bus)
    ]
    pieces = (piece for part in parts for piece in pieces_of(part, COUNTED_SECONDS * SECOND_NS))
    return Spans(tuple(Span(one.begin_ns, one.seconds, sum(map(one.contains, times))) for one in pieces))


def _saturated_spans(recording: Recording, window: TimeRange, core: int | None) -> Spans:
    """Seconds of cores in the kernel, of runs as long as the detector core-saturated asks for."""
    rule = SaturationRule.of(recording.thresholds)
    begin_ns = window.begin_ns + -window.begin_ns % SECOND_NS
    end_ns = window.end_ns - window.end_ns % SECOND_NS
    spans: list[Span] = []
    for piece in pieces_of(TimeRange(begin_ns, end_ns), LONGEST_NS):
        found = kernel_seconds(recording.segments, piece.begin_ns, piece.end_ns, rule)
        recording.damaged.extend(found.damaged)
        if core is not None:
            found = replace(found, states={n: row for n, row in found.states.items() if n == core})
        saturated = Counter(
            at for run in runs_in(found, rule) for at in range(run.begin_ns, run.end_ns, SECOND_NS)
        )
        seconds = enumerate(zip(*found.states.values(), strict=True))
        seen = [piece.begin_ns + n * SECOND_NS for n, letters in seconds if set(letters) != {MISSING}]
        spans += [Span(at, 1.0, saturated[at]) for at in seen]
    return Spans(tuple(spans), "" if spans else "nothing was recorded there")


def _waited(step: Step[SoftirqThreads], core: int | None) -> float:
    """Seconds that softirq threads waited, all or those of a core."""
    return sum(one.delay_ns for one in delays_in(step) if core in (None, one.thread.core)) / 1e9


def _throttled(step: Step[Throttling], path: str) -> float:
    """Seconds that cgroups were stopped, all or one."""
    return math.fsum(one.seconds for one in throttled_in(step) if path in ("", one.path))


def _restarted(step: Step[Units], name: str) -> int:
    """Restarts of a unit; one that is not listed is inactive, and has none."""
    return sum(one.count for one in restarts_in(step) if one.unit.name == name)


def _core(subject: str) -> int | None:
    return int(subject) if subject.isdigit() else None


_OBSERVERS: dict[str, Callable[[Recording, TimeRange, str], Spans]] = {
    quantities.ZOMBIE_GROWTH.id: lambda r, window, _: growth_spans(r.segments, window, r.damaged),
    quantities.SATURATED_CORE_SECONDS.id: lambda r, window, core: _saturated_spans(r, window, _core(core)),
    quantities.SOFTIRQ_DELAY.id: lambda r, window, core: counter_spans(
        r.segments, window, SOFTIRQ_THREADS, lambda step: _waited(step, _core(core)), r.damaged
    ),
    quantities.NIC_RESETS.id: _reset_spans,
    quantities.THROTTLING.id: lambda r, window, path: counter_spans(
        r.segments, window, THROTTLING, lambda step: _throttled(step, path), r.damaged
    ),
    quantities.RECLAIM.id: lambda r, window, _: counter_spans(
        r.segments, window, RECLAIM, lambda step: reclaimed_in(step).scanned_directly, r.damaged
    ),
    quantities.UNIT_RESTARTS.id: lambda r, window, unit: counter_spans(
        r.segments, window, UNITS, lambda step: _restarted(step, unit), r.damaged
    ),
    quantities.UNIT_RUNS.id: lambda r, window, unit: running_spans(r.segments, window, unit, r.damaged),
}
