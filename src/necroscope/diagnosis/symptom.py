"""What there is to explain in a stretch of time, and where it was felt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.scene import Scene
from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.episodes import over, place_of
from necroscope.signals.thresholds import Thresholds

# The gravest kind that is there is explained; the others may be its cause.
KINDS = (
    ("nic-reset",),
    ("soft-lockup", "hard-lockup", "rcu-stall"),
    ("core-saturated",),
    ("cgroup-leak",),
)
LONGEST_NS = 60 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Symptom(TimeRange):
    """An event, and the seconds in which its cause must have been at work."""

    event: Event

    @property
    def kind(self) -> str:
        """What kind of event it is."""
        return self.event.kind

    def has_most_of(self, begin_ns: int, end_ns: int) -> bool:
        """Whether most of an interval lies in its seconds."""
        inside_ns = min(end_ns, self.end_ns) - max(begin_ns, self.begin_ns)
        return inside_ns * 2 >= end_ns - begin_ns


def symptom_events(events: Sequence[Event], thresholds: Thresholds) -> list[Event]:
    """Return the events worth explaining, the newest first: one of each episode of the gravest kind."""
    for kinds in KINDS:
        found = [event for event in events if event.kind in kinds]
        if episodes := over(found, thresholds):
            return [episode.clearest for episode in reversed(episodes)]
    return []


def lines_of_stall(events: Sequence[Event], event: Event, thresholds: Thresholds) -> int:
    """Return how many lines there are in the episode of an event."""
    same_place = [one for one in events if place_of(one) == place_of(event)]
    around = (one for one in over(same_place, thresholds) if one.begin_ns <= event.time_ns <= one.end_ns)
    return next((episode.lines for episode in around), 1)


def symptom_of(scene: Scene, event: Event) -> Symptom:
    """The seconds before an event; those that it lasted, where it has a length."""
    window_ns = int(scene.limit("diagnosis.window_seconds") * 1e9)
    if event.kind == "core-saturated":
        length_ns = int((event.seconds or 0) * 1e9) or window_ns
        return Symptom(event.time_ns, event.time_ns + min(length_ns, LONGEST_NS), event)
    stalled_ns = int((event.stall_seconds or 0) * 1e9)
    return Symptom(event.time_ns - min(max(window_ns, stalled_ns), LONGEST_NS), event.time_ns, event)
