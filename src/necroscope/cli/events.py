"""What happened in a recorded range: NIC resets, saturated cores, restarts, holes in the recording.

necroscope events                    the last ten minutes there are
necroscope events -b 12h --kind nic-reset
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.arguments import add_store
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import Chosen, add_range, choose_range
from necroscope.model.advice import around_command
from necroscope.model.episode import Episode
from necroscope.model.event import EVENT_KINDS
from necroscope.model.timestamp import iso_utc
from necroscope.signals.episodes import over_stored
from necroscope.signals.kernel_log_events import line_doubts
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import Damage
from necroscope.store.stored_events import StoredEvent, events_between


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `events` understands."""
    add_store(parser)
    add_range(parser)
    parser.add_argument(
        "--kind", action="append", default=[], choices=EVENT_KINDS, metavar="KIND", help="these kinds only"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Read, and list."""
    chosen = choose_range(arguments)
    events = [
        event for event in read_events_of(chosen) if not arguments.kind or event.event.kind in arguments.kind
    ]
    resets = nic_resets(events)
    begin, end = iso_utc(chosen.time.begin_ns), iso_utc(chosen.time.end_ns)
    body = {
        "host": chosen.host,
        "begin": begin,
        "end": end,
        "events": [event_document(event) for event in events],
        "nic_resets": [episode_document(*reset) for reset in resets],
        "damaged": note_damaged(chosen.damaged),
    }
    return Answer(0, body, lambda screen: _text(screen, events, len(resets), f"from {begin} to {end}"))


def read_events_of(chosen: Chosen) -> list[StoredEvent]:
    """The events of a range; segments whose events cannot be read are added to those that are damaged."""
    damaged: list[Damage] = []
    events = events_between(chosen.segments, chosen.time, damaged)
    chosen.require_whole(damaged)
    chosen.damaged.extend(damaged)
    return events


def nic_resets(events: Sequence[StoredEvent]) -> list[tuple[Episode, StoredEvent]]:
    """Return the episodes of events that are of NIC resets, each with its first event."""
    return list(over_stored([one for one in events if one.event.kind == "nic-reset"], load_thresholds(None)))


def episode_document(episode: Episode, first: StoredEvent) -> dict[str, Any]:
    """Return an episode for machines; it has the id of its first event."""
    return {
        "id": first.id,
        "device": first.event.device or first.event.bus,
        "begin": iso_utc(first.utc_ns),
        "end": iso_utc(first.utc_ns + episode.end_ns - episode.begin_ns),
        "lines": episode.lines,
        "reason": episode.reason,
    }


def event_document(stored: StoredEvent) -> dict[str, Any]:
    """An event for machines."""
    row = asdict(stored.event)
    del row["time_ns"], row["sequence"]
    return {
        "id": stored.id,
        "time": iso_utc(stored.utc_ns),
        "segment": stored.segment.folder.name,
        **row,
    }


def event_lines(screen: Screen, events: Sequence[StoredEvent]) -> str:
    """Events for people: when, what, and the id that `flame --around` takes."""
    rows = [
        (iso_utc(one.utc_ns)[11:], f"{one.event.text}{line_doubts(one.event)} [{one.id}]") for one in events
    ]
    return screen.table(rows)


def _text(screen: Screen, events: Sequence[StoredEvent], resets: int, when: str) -> str:
    head = f"{len(events) or 'no'} {'event' if len(events) == 1 else 'events'} {when}"
    if resets:
        head += f", of {resets} NIC reset{'' if resets == 1 else 's'}"
    lines = [screen.paint(screen.wrap(head), "bold")]
    if events:
        see_one = screen.wrap(f"See one: {around_command(events[-1].id)}", hanging=2)
        lines += [event_lines(screen, events), see_one]
    return "\n".join(lines)
