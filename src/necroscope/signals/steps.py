"""Two readings in a row of one source, live: what signals that subtract counters are folds over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from necroscope.sources.source import Source
from necroscope.store.segment import Moment, Step, Timed

T = TypeVar("T")


@dataclass(slots=True)
class Steps(Generic[T]):
    """A fold over samples; `Segment.steps` gives the same of recorded time."""

    source: Source[T]
    _before: Timed[T] | None = None

    def feed(self, sample: Moment) -> Step[T] | None:
        """Return the step that a sample ends; None if it lacks the source, or is the first that has it."""
        value = sample.value(self.source)
        if value is None:
            return None
        before, self._before = self._before, Timed(sample.time_ns, value)
        return Step(before, self._before) if before else None
