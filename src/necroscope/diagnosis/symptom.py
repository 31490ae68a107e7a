"""What there is to explain in a stretch of time, and where it was felt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.scene import Scene
from necroscope.model.event import Event
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.kernel_log_events import kernel_log_rules

# The gravest kind that is there is explained; the others may be its cause.
KINDS = (
    ("nic-reset",),
    ("soft-lockup", "hard-lockup", "rcu-stall"),
    ("core-saturated",),
    ("cgroup-leak",),
)
SAME_STALL_NS = 30 * SECOND_NS  # a driver writes several lines about one stall
LONGEST_NS = 60 * SECOND_NS


@dataclass(frozen=True, slots=True)
class Symptom:
    """An event, and the seconds in which its cause must have been at work."""

    event: Event
    begin_ns: int
    end_ns: int

    @property
    def kind(self) -> str:
        """What kind of event it is."""
        return self.event.kind

    def has_most_of(self, begin_ns: int, end_ns: int) -> bool:
        """Whether most of an interval lies in its seconds."""
        inside_ns = min(end_ns, self.end_ns) - max(begin_ns, self.begin_ns)
        return inside_ns * 2 >= end_ns - begin_ns


def symptom_events(events: Sequence[Event]) -> list[Event]:
    """The events worth explaining, the newest first: one for each stall, all of the gravest kind."""
    for kinds in KINDS:
        found = [event for event in events if event.kind in kinds and _is_trouble(event)]
        if found:
            return [_most_telling(group) for group in reversed(_stalls(found))]
    return []


def lines_of_stall(events: Sequence[Event], event: Event) -> int:
    """How many lines there are about the stall that an event is about."""
    found = [one for one in events if one.kind == event.kind and _is_trouble(one)]
    return next((len(group) for group in _stalls(found) if event in group), 1)


def symptom_of(scene: Scene, event: Event) -> Symptom:
    """The seconds before an event; those that it lasted, where it has a length."""
    window_ns = int(scene.limit("diagnosis.window_seconds") * 1e9)
    if event.kind == "core-saturated":
        length_ns = int((event.seconds or 0) * 1e9) or window_ns
        return Symptom(event, event.time_ns, event.time_ns + min(length_ns, LONGEST_NS))
    stalled_ns = int((event.stall_seconds or 0) * 1e9)
    return Symptom(event, event.time_ns - min(max(window_ns, stalled_ns), LONGEST_NS), event.time_ns)


def _is_trouble(event: Event) -> bool:
    return event.phase != "done"


def _stalls(events: Sequence[Event]) -> list[list[Event]]:
    """Lines of one device that follow each other closely are about one stall."""
    groups: list[list[Event]] = []
    latest: dict[tuple[str, int | None], list[Event]] = {}
    for event in sorted(events, key=lambda event: event.time_ns):
        where = (event.device or event.bus or event.unit, event.core if not event.device else None)
        group = latest.get(where)
        if group and event.time_ns - group[-1].time_ns < SAME_STALL_NS:
            group.append(event)
        else:
            latest[where] = [event]
            groups.append(latest[where])
    return groups


def _most_telling(group: Sequence[Event]) -> Event:
    """The line that names the queue and what its NAPI did; the first of several."""
    causes = {rule.id: rule.cause for rule in kernel_log_rules()}
    return max(
        group,
        key=lambda event: (
            event.napi_scheduled is not None,
            event.queue is not None,
            event.phase == "stall",
            bool(causes.get(event.rule)),
            -event.time_ns,
        ),
    )
