"""What a window shows of a quantity, whatever it is read from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from necroscope.remedies.verify import quantities
from necroscope.remedies.verify.counter_spans import (
    counter_spans,
    counts_by_boot,
    delay_added,
    growth_spans,
    pages_added,
    read_values,
    restarts_added,
    running_spans,
    throttled_added,
)
from necroscope.remedies.verify.event_spans import reset_spans, saturated_spans
from necroscope.remedies.verify.quantities import Quantity
from necroscope.remedies.verify.spans import Spans
from necroscope.remedies.verify.windows import Window
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.reclaim import RECLAIM
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.throttling import THROTTLING
from necroscope.sources.units import UNITS
from necroscope.store.store import Damage, StoredSegment

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


def _core(subject: str) -> int | None:
    return int(subject) if subject.isdigit() else None


_OBSERVERS: dict[str, Callable[[Recording, Window, str], Spans]] = {
    quantities.ZOMBIE_GROWTH.id: lambda r, window, _: growth_spans(r.segments, window, r.damaged),
    quantities.SATURATED_CORE_SECONDS.id: lambda r, window, core: saturated_spans(
        r.segments, window, _core(core), r.thresholds, r.damaged
    ),
    quantities.SOFTIRQ_DELAY.id: lambda r, window, core: counter_spans(
        r.segments, window, SOFTIRQ_THREADS, delay_added(_core(core)), r.damaged
    ),
    quantities.NIC_RESETS.id: lambda r, window, device: reset_spans(
        r.segments, window, device, r.thresholds, r.damaged
    ),
    quantities.THROTTLING.id: lambda r, window, cgroup: counter_spans(
        r.segments, window, THROTTLING, throttled_added(cgroup), r.damaged
    ),
    quantities.RECLAIM.id: lambda r, window, _: counter_spans(
        r.segments, window, RECLAIM, pages_added, r.damaged
    ),
    quantities.UNIT_RESTARTS.id: lambda r, window, unit: counter_spans(
        r.segments, window, UNITS, restarts_added(unit), r.damaged
    ),
    quantities.UNIT_RUNS.id: lambda r, window, unit: running_spans(r.segments, window, unit, r.damaged),
}


def observe(quantity: Quantity, subject: str, recording: Recording, window: Window) -> Spans:
    """All that was recorded of a quantity that adds up, or of a state. Levels have `observe_level`."""
    return _OBSERVERS[quantity.id](recording, window, subject)


def observe_level(recording: Recording, window: Window) -> Level | str:
    """How many zombies there were at the end of a window, or why that is not known."""
    series, why = read_values(recording.segments, window, MEMORY_CGROUPS, recording.damaged)
    if why:
        return why
    boot_id = series[-1][-1].boot_id
    counts = counts_by_boot(series)[boot_id]
    value, last_ns = median(count.dying for count in counts[-LAST:]), counts[-1].time_ns
    return Level(value, last_ns, boot_id, (last_ns - counts[0].time_ns) / 1e9)
