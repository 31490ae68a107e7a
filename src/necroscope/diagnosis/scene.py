"""What a diagnosis looks at: recorded counters and events around a symptom, and samples where there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from necroscope.model.culprit import Ranking
from necroscope.model.event import Event, event_id
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.source import Source
from necroscope.store.segment import Segment

T = TypeVar("T")

# Who ran more than usual: from, to (on the segment's clock), and on which cores.
Rank = Callable[[int, int, tuple[int, ...]], Ranking]


@dataclass(frozen=True, slots=True)
class Scene:
    """One stretch of one host's time. Times are on the segment's clock."""

    segment: Segment
    events: tuple[Event, ...]
    thresholds: Thresholds
    rank: Rank | None = None
    why_no_samples: str = "nothing samples the cores while doctor looks"
    names: Mapping[Event, str] = field(default_factory=dict)  # ids under which events are stored

    def limit(self, name: str) -> float:
        """The value of a threshold by its full name."""
        return self.thresholds[name]

    def name_of(self, event: Event) -> str:
        """The id of an event, which `flame --around` takes."""
        return self.names.get(event) or event_id(event, event.time_ns + self.segment.anchor.offset_ns)

    def value_at(self, source: Source[T], time_ns: int) -> T | None:
        """What a source said last before a time, or first after it where it had not been read yet."""
        series = self.segment.series(source)
        return self.value_before(source, time_ns) or (series[0].value if series else None)

    def value_before(self, source: Source[T], time_ns: int) -> T | None:
        """What a source said last before a time."""
        before = [timed.value for timed in self.segment.series(source) if timed.time_ns <= time_ns]
        return before[-1] if before else None

    def why_not(self, source: Source[T]) -> str:
        """Why a source gave nothing."""
        reading = self.segment.absence(source)
        seen = "read only once" if self.segment.series(source) else "not recorded"
        return f"{source.id}: {reading.reason if reading else seen}"
