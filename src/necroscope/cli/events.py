"""What happened in a recorded range: NIC resets, saturated cores, restarts, holes in the recording.

necroscope events                    the last ten minutes there are
necroscope events -b 12h --kind nic-reset
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store
from necroscope.cli.damaged import tell_damaged
from necroscope.cli.screen import Screen
from necroscope.cli.selecting import Chosen, add_range, choose_range
from necroscope.model.advice import around_command
from necroscope.model.event import EVENT_KINDS
from necroscope.signals.kernel_log_events import line_doubts
from necroscope.store.clock import Anchor
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
    utc = Anchor(0, 0)
    begin, end = utc.iso(chosen.time.begin_ns), utc.iso(chosen.time.end_ns)
    body = {
        "host": chosen.host,
        "begin": begin,
        "end": end,
        "events": [event_document(event) for event in events],
        "damaged": tell_damaged(chosen.damaged),
    }
    return Answer(0, body, lambda screen: _text(screen, events, begin, end))


def read_events_of(chosen: Chosen) -> list[StoredEvent]:
    """The events of a range; segments whose events cannot be read are added to those that are damaged."""
    damaged: list[Damage] = []
    events = events_between(chosen.segments, chosen.time, damaged)
    chosen.require_whole(damaged)
    chosen.damaged.extend(damaged)
    return events


def event_document(stored: StoredEvent) -> dict[str, Any]:
    """An event for machines."""
    row = asdict(stored.event)
    del row["time_ns"], row["sequence"]
    return {
        "id": stored.id,
        "time": Anchor(0, 0).iso(stored.utc_ns),
        "segment": stored.segment.folder.name,
        **row,
    }


def event_lines(screen: Screen, events: Sequence[StoredEvent]) -> str:
    """Events for people: when, what, and the id that `flame --around` takes."""
    rows = [
        (Anchor(0, 0).iso(one.utc_ns)[11:], f"{one.event.text}{line_doubts(one.event)} [{one.id}]")
        for one in events
    ]
    return screen.table(rows)


def _text(screen: Screen, events: Sequence[StoredEvent], begin: str, end: str) -> str:
    head = f"{len(events) or 'no'} {'event' if len(events) == 1 else 'events'} from {begin} to {end}"
    lines = [screen.paint(screen.wrap(head), "bold")]
    if events:
        see_one = screen.wrap(f"See one: {around_command(events[-1].id)}", hanging=2)
        lines += [event_lines(screen, events), see_one]
    return "\n".join(lines)
