"""How hard the kernel searched for memory: on behalf of tasks that wait for it, and in kswapd.

The only place that subtracts the counters of reclaim. Tasks that search for themselves wait meanwhile; kswapd
alone is ordinary where files are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange
from necroscope.signals.counter_steps import Steps, rise
from necroscope.sources.reclaim import RECLAIM, Reclaim
from necroscope.store.segment import Moment, Segment, Step

NODE_WIDE = "oom-kill"  # the rule for the whole node; a cgroup at its own limit has another


@dataclass(frozen=True, slots=True)
class Reclaimed(TimeRange):
    """What was counted between two readings, and what was left at the second."""

    scanned_directly: int  # pages, by the tasks that wanted memory
    scanned_by_kswapd: int
    allocation_stalls: int
    compaction_stalls: int | None  # None: this kernel does not count them
    left: Reclaim

    def per_second(self, count: int) -> float:
        """Return one of the counts as a rate."""
        return count / max(self.seconds, 0.001)

    @property
    def pages_per_second(self) -> float:
        """The pages that waiting tasks scanned."""
        return self.per_second(self.scanned_directly)


@dataclass(slots=True)
class Reclaims:
    """A fold over samples."""

    _steps: Steps[Reclaim] = field(default_factory=lambda: Steps(RECLAIM))

    def feed(self, sample: Moment) -> Reclaimed | None:
        """Return what was counted since the last reading; None if there is none, now or before."""
        return reclaimed_in(step) if (step := self._steps.feed(sample)) else None


def over(segment: Segment) -> list[Reclaimed]:
    """Return what was counted in a recorded segment, reading by reading, by the fold that runs live."""
    reclaims = Reclaims()
    return [one for sample in segment.moments if (one := reclaims.feed(sample))]


def reclaimed_in(step: Step[Reclaim]) -> Reclaimed:
    """Return what was counted between two readings."""
    before, after = step.before.value, step.after.value
    compacted = (before.compaction_stalls, after.compaction_stalls)
    return Reclaimed(
        step.before.time_ns,
        step.after.time_ns,
        rise(before.scanned_directly, after.scanned_directly),
        rise(before.scanned_by_kswapd, after.scanned_by_kswapd),
        rise(before.allocation_stalls, after.allocation_stalls),
        None if None in compacted else rise(compacted[0] or 0, compacted[1] or 0),
        after,
    )


def kills_of_the_node(events: Iterable[Event]) -> list[Event]:
    """Return the processes that were killed because the whole node ran out of memory."""
    return [event for event in events if event.rule == NODE_WIDE]
