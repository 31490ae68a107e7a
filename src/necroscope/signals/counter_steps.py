"""Two readings in a row of one source, and how far a counter rose between them.

Signals that subtract counters are folds over such steps. `Segment.steps` gives the same of recorded time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from necroscope.sources.source import Source
from necroscope.store.segment import Moment, Step, Timed

T = TypeVar("T")


@dataclass(slots=True)
class Steps(Generic[T]):
    """A fold over samples."""

    source: Source[T]
    _before: Timed[T] | None = None

    def feed(self, sample: Moment) -> Step[T] | None:
        """Return the step that a sample ends; None if it lacks the source, or is the first that has it."""
        value = sample.value(self.source)
        if value is None:
            return None
        before, self._before = self._before, Timed(sample.time_ns, value)
        return Step(before, self._before) if before else None


def rise(before: int, after: int) -> int:
    """Return how far a counter rose; 0 if it fell: some do by a tick, or it is of another object."""
    return max(after - before, 0)


def rise_since_start(before: int, after: int) -> int:
    """Return how far a counter rose that begins again at 0 when what it counts is started again."""
    return after - before if after >= before else after
