"""How long the threads that run softirqs (ksoftirqd/N, NAPI threads of devices) were ready and did not run.

The kernel adds a wait when it is over, so a delay may show up a moment after the stall. A thread that was not
read before may have waited long ago: its delay counts from its first reading on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.signals.counter_steps import Steps, rise
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread, SoftirqThreads
from necroscope.store.segment import Moment, Segment, Step


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

    _steps: Steps[SoftirqThreads] = field(default_factory=lambda: Steps(SOFTIRQ_THREADS))

    def feed(self, sample: Moment) -> list[SoftirqDelay]:
        """Return the delay of every thread since it was last read; none if it could not be read now."""
        return list(delays_in(step)) if (step := self._steps.feed(sample)) else []


def over(segment: Segment) -> list[SoftirqDelay]:
    """Return all delays of a recorded segment, in the order of time."""
    delays = SoftirqDelays()
    return [delay for sample in segment.moments for delay in delays.feed(sample)]


def delays_in(step: Step[SoftirqThreads]) -> Iterator[SoftirqDelay]:
    """Return how long every thread of both readings waited between them."""
    earlier = {thread.pid: thread.run_delay_ns for thread in step.before.value}
    for thread in step.after.value:
        if thread.pid in earlier:
            # A counter that fell is another thread's, which got the pid of one that ended.
            delay_ns = rise(earlier[thread.pid], thread.run_delay_ns)
            yield SoftirqDelay(thread, step.before.time_ns, step.after.time_ns, delay_ns)
