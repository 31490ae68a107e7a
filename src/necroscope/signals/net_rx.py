"""Whether NET_RX ran on a CPU that took interrupts of a NIC.

A NIC masks the interrupt of a queue until NAPI has run, so one that waits for long takes few of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from necroscope.model.time_range import TimeRange
from necroscope.signals.queue_cpus import taken_between
from necroscope.sources.interrupts import INTERRUPTS, Interrupts
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThreads
from necroscope.sources.softirqs import SOFTIRQS, Softirqs
from necroscope.store.segment import Moment, Segment


@dataclass(frozen=True, slots=True)
class NetRx(TimeRange):
    """What one CPU did for a NIC between two readings."""

    cpu: int
    interrupts: int  # taken
    has_run: bool  # NET_RX


@dataclass(slots=True)
class NetRxRuns:
    """A fold over samples, for some interrupts. Nothing comes of it if NAPI threads do the work of NET_RX."""

    irqs: Collection[int]
    _before: tuple[int, Interrupts, Softirqs] | None = None
    _is_threaded: bool = False

    def feed(self, sample: Moment) -> list[NetRx]:
        """Return what every CPU did since the last sample that has both counters."""
        threads, interrupts = sample.value(SOFTIRQ_THREADS), sample.value(INTERRUPTS)
        softirqs = sample.value(SOFTIRQS)
        if threads is not None:
            self._is_threaded = has_napi_threads(threads)
        if interrupts is None or softirqs is None:
            return []
        before, self._before = self._before, (sample.time_ns, interrupts, softirqs)
        if before is None or self._is_threaded:
            return []
        begin_ns, interrupts_before, softirqs_before = before
        taken = taken_between(interrupts_before, interrupts, self.irqs)
        ran = {one.core: one.net_rx for one in softirqs_before}
        return [
            NetRx(begin_ns, sample.time_ns, one.core, taken[one.core], one.net_rx != ran.get(one.core))
            for one in softirqs
            if one.core in taken
        ]


def over(segment: Segment, irqs: Collection[int]) -> list[NetRx]:
    """Return all that CPUs did for some interrupts in a recorded segment, in the order of time."""
    runs = NetRxRuns(irqs)
    return [one for sample in segment.moments for one in runs.feed(sample)]


def has_napi_threads(threads: SoftirqThreads) -> bool:
    """Return whether threads of a device do what NET_RX does otherwise."""
    return any(thread.core is None for thread in threads)
