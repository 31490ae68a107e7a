"""The events whose seconds go into the file: of each kind the newest, rare kinds first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from necroscope.diagnosis.comparison.quiet_seconds import HARMLESS
from necroscope.server.answers.events import Events, RecordedEvent
from necroscope.server.one_file.event_seconds import BEFORE_US

MOST_EVENTS = 12


def worst_events(events: Events, symptom: RecordedEvent | None) -> list[RecordedEvent]:
    """At most twelve; the symptom that the diagnosis explains is the first of them."""
    chosen: list[RecordedEvent] = [symptom] if symptom else []
    for event in _in_turn(events):
        if len(chosen) < MOST_EVENTS and not any(_is_same_trouble(event, other) for other in chosen):
            chosen.append(event)
    return chosen


def _in_turn(events: Events) -> Iterator[RecordedEvent]:
    """The newest of every kind, then the next of every kind."""
    kinds = sorted((kind for kind in events.kinds if kind not in HARMLESS), key=lambda k: events.kinds[k])
    newest: list[Sequence[RecordedEvent]] = [
        [event for event in reversed(events.events) if event.kind == kind] for kind in kinds
    ]
    for row in zip_longest(*newest):
        yield from (event for event in row if event)


def _is_same_trouble(event: RecordedEvent, other: RecordedEvent) -> bool:
    """A driver writes several lines about one stall."""
    return event.core == other.core and abs(event.time_us - other.time_us) < BEFORE_US
