"""How long the threads that run softirqs (ksoftirqd/N, NAPI threads of devices) were ready and did not run.

The kernel adds a wait when it is over, so a delay may show up a moment after the stall. A thread that was not
read before may have waited long ago: its delay counts from its first reading on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread, SoftirqThreads
from necroscope.store.segment import Moment, Segment, Timed


@dataclass(frozen=True, slots=True)
class SoftirqDelay:
    """How long one softirq thread waited between two readings."""

    thread: SoftirqThread
    begin_ns: int
    end_ns: int
    delay_ns: int

    @property
    def seconds(self) -> float:
        """How long it waited."""
        return self.delay_ns / 1e9


@dataclass(slots=True)
class SoftirqDelays:
    """A fold over samples."""

    _before: Timed[SoftirqThreads] | None = None

    def feed(self, sample: Moment) -> list[SoftirqDelay]:
        """Return the delay of every thread since it was last read; none if it could not be read now."""
        threads = sample.value(SOFTIRQ_THREADS)
        if threads is None:
            return []
        before, self._before = self._before, Timed(sample.time_ns, threads)
        if before is None:
            return []
        return [
            SoftirqDelay(thread, before.time_ns, sample.time_ns, delay_ns)
            for thread, delay_ns in delays_between(before.value, threads)
        ]


def over(segment: Segment) -> list[SoftirqDelay]:
    """Return all delays of a recorded segment, in the order of time."""
    delays = SoftirqDelays()
    return [delay for sample in segment.moments for delay in delays.feed(sample)]


def delays_between(before: SoftirqThreads, after: SoftirqThreads) -> Iterator[tuple[SoftirqThread, int]]:
    """Return how many nanoseconds every thread of both readings waited between them."""
    earlier = {thread.pid: thread.run_delay_ns for thread in before}
    for thread in after:
        if thread.pid in earlier:
            # A counter that fell is another thread's, which got the pid of one that ended.
            yield thread, max(thread.run_delay_ns - earlier[thread.pid], 0)
