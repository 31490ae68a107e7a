"""A recorded range as one file: the overview of all of it, and the seconds before its worst events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from necroscope import __version__
from necroscope.diagnosis.quiet_baseline.quiet_seconds import HARMLESS
from necroscope.model.timestamp import SECOND_US
from necroscope.server.one_file.collected import (
    ROOM_BYTES,
    Collected,
    collect_default,
    collect_overview,
    collect_samples,
)
from necroscope.server.one_file.event_seconds import BEFORE_US, event_seconds, explained_seconds
from necroscope.server.one_file.page_file import About, PageFile, address, page_file
from necroscope.server.questions.events import Events, RecordedEvent
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import Range

MOST_EVENTS = 12
MOST_LINKS = 8  # of the diagnosis


def range_page(store: RecordedStore, asked: Range, room_bytes: int = ROOM_BYTES) -> PageFile:
    """The file. NothingRecordedError: there is nothing of the range."""
    span = whole_seconds(asked)
    collected = Collected(room_bytes)
    events, explained = collect_overview(collected, store, span)
    worst = worst_events(events, explained.symptom if explained else None) if events else []
    seconds = [event_seconds(span.host, event) for event in worst]
    links = explained_seconds(span.host, explained)[:MOST_LINKS] if explained else []
    shown = sum(collect_samples(collected, store, one.within(span)) for one in seconds)
    for one in links:
        collect_samples(collected, store, one.within(span))
    collect_default(collected, store, span)
    say_what_is_missing(collected, events, shown)
    start = address("overview", [("host", span.host), ("begin", span.begin_us), ("end", span.end_us)])
    return page_file(collected, About(span, start, time.time_ns() // 1000, __version__))


def whole_seconds(span: Range) -> Range:
    """What the page asks for is in whole seconds."""
    end_us = -(-span.end_us // SECOND_US) * SECOND_US
    return Range(span.host, span.begin_us // SECOND_US * SECOND_US, end_us)


def say_what_is_missing(collected: Collected, events: Events | None, shown: int) -> None:
    """The file says what it has not."""
    number = sum(events.kinds.values()) if events else 0
    if events and events.left_out:
        collected.left_out.append(f"{events.left_out:,} events of frequent kinds")
    if number > shown:
        collected.left_out.append(f"samples around {number - shown:,} of {number:,} events")
    collected.left_out.append("samples of other seconds and cores than those before the events")
    collected.left_out.append("single seconds of cores, but for the minutes around these events")
    collected.left_out.append("the diagnosis of parts of the range")


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
