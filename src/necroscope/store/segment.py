"""A stretch of one host's time: what every source said, moment by moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.sources.source import Source
from necroscope.store.clock import Anchor

T = TypeVar("T")
SEAM_NS = 1_500_000_000  # between the last reading of a segment and the first of the next
MAX_STEP_NS = 2_500_000_000  # two readings further apart than this have a hole between them


@dataclass(frozen=True, slots=True)
class Moment:
    """The sources that were due at one moment, and what reading each of them cost."""

    time_ns: int
    readings: Mapping[str, Reading[Any]]
    cost_ns: Mapping[str, int]

    def value(self, source: Source[T]) -> T | None:
        """What a source said; None if it was not due, or absent."""
        reading = self.readings.get(source.id)
        return reading.value if reading else None


@dataclass(frozen=True, slots=True)
class Timed(Generic[T]):
    """A value and the moment at which it was read."""

    time_ns: int
    value: T


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """Two values in a row, from which a rate is computed."""

    before: Timed[T]
    after: Timed[T]

    @property
    def seconds(self) -> float:
        """How far apart the two are."""
        return (self.after.time_ns - self.before.time_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Segment:
    """Moments of one boot of one host, oldest first. Raw counters: rates are computed on reading."""

    labels: Labels
    anchor: Anchor
    moments: tuple[Moment, ...]
    is_live: bool = True  # False: read from a recorded tree, which is one moment
    interrupted: bool = False

    @property
    def begin_ns(self) -> int:
        """When the first moment was read."""
        return self.moments[0].time_ns

    @property
    def end_ns(self) -> int:
        """When the last moment was read."""
        return self.moments[-1].time_ns

    @property
    def seconds(self) -> float:
        """How long the segment is."""
        return (self.end_ns - self.begin_ns) / 1e9

    def series(self, source: Source[T]) -> list[Timed[T]]:
        """All values of a source, oldest first."""
        return [
            Timed(moment.time_ns, reading.value)
            for moment in self.moments
            if (reading := moment.readings.get(source.id)) and reading.value is not None
        ]

    def steps(self, source: Source[T]) -> Iterator[Step[T]]:
        """The values of a source in pairs."""
        return (Step(before, after) for before, after in pairwise(self.series(source)))

    def last(self, source: Source[T]) -> T | None:
        """The newest value of a source."""
        series = self.series(source)
        return series[-1].value if series else None

    def span(self, source: Source[T]) -> Step[T] | None:
        """The oldest and the newest value, where there are two."""
        series = self.series(source)
        return Step(series[0], series[-1]) if len(series) > 1 else None

    def absence(self, source: Source[T]) -> Reading[T] | None:
        """The last reading of a source that gave no value; None where all did."""
        readings = [reading for moment in self.moments if (reading := moment.readings.get(source.id))]
        return next((reading for reading in reversed(readings) if reading.value is None), None)
