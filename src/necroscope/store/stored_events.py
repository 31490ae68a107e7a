"""The events of a segment on disk, each with the id by which it can be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from necroscope import _native
from necroscope.errors import NecroscopeError, UsageError
from necroscope.model.event import Event, event_id
from necroscope.model.shell_command import option, shell_command
from necroscope.model.time_range import TimeRange
from necroscope.store.journal import journal_bytes, read_journal
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.store import Damage, StoredSegment, has_file, sealed_meanwhile
from necroscope.store.tables import Record

EVENTS = "events.parquet"
LATEST_NS = 600 * 10**9  # after an event; units are looked at every minute, a long stall is told when it ends

NEAR = timedelta(milliseconds=100)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event, when it was by the wall clock, and the segment that has it."""

    id: str
    utc_ns: int
    event: Event
    segment: StoredSegment


def write_events(path: Path, events: Sequence[Event], offset_ns: int) -> None:
    """Write the events of a segment that is being sealed."""
    record = _record()
    named = last_told(events, offset_ns)
    ids, events = list(named), list(named.values())
    columns = list(zip(*record.rows(events), strict=True)) or [()] * len(record.columns)
    rows = [(name, kind, list(values)) for (name, kind), values in zip(record.columns, columns, strict=True)]
    _native.write_table(path, [("id", "text", ids), *rows])


def last_told(events: Sequence[Event], offset_ns: int) -> dict[str, Event]:
    """Events by id. One that lasts is told twice: when it is noticed, and how long it was in the end."""
    return {event_id(event, event.time_ns + offset_ns): event for event in events}


def read_events(segment: StoredSegment) -> list[StoredEvent]:
    """The events of a segment, in the order of time."""
    if segment.is_open:
        try:
            events = read_journal(journal_bytes(segment.folder)).events
        except FileNotFoundError:
            sealed = sealed_meanwhile(segment)
            return read_events(sealed) if sealed else []
        # By the clock that it will be sealed with: the id that is told now must be found later.
        named = list(last_told(events, segment.description.clock.offset_ns).items())
    elif not has_file(segment, EVENTS):  # an imported capture
        return []
    else:
        named = _read_sealed(segment.folder / EVENTS)
    found = [StoredEvent(name, event.time_ns + segment.offset_ns, event, segment) for name, event in named]
    return sorted(found, key=lambda event: (event.utc_ns, event.id))


def events_between(
    segments: Sequence[StoredSegment], wanted: TimeRange, damaged: list[Damage] | None = None
) -> list[StoredEvent]:
    """The events of a range of time, in order. An event may be told in the segment after its own.

    Segments whose events cannot be read are added to `damaged`; without it they are an error.
    """
    wide = wanted.widened(LATEST_NS)
    near = [segment for segment in segments if segment.overlaps(wide)]
    # One that lasts into the next segment is told there too. The time is its name, not the id, which depends
    # on how the clock of a segment stands to UTC.
    found = {
        (segment.host, segment.boot_id, event.event.kind, event.event.time_ns, event.event.sequence): event
        for segment in near
        for event in _read_or_note(segment, damaged)
    }
    between = [event for event in found.values() if wanted.contains(event.utc_ns)]
    return sorted(between, key=lambda event: (event.utc_ns, event.id))


def find_event(
    segments: Sequence[StoredSegment], id: str, damaged: list[Damage] | None = None
) -> StoredEvent:
    """The event with an id, which must be one host's only: ids do not tell the host.

    An id that was told while the event happened may be some milliseconds beside the one that was written: the
    wall clock is slewed, and a segment has one time for all its events.
    """
    damaged = [] if damaged is None else damaged
    kind = id.rsplit("-", 2)[0]
    near: dict[str, StoredEvent] = {}
    found: dict[str, StoredEvent] = {}
    for segment in reversed(segments):
        kinds = segment.description.events
        if segment.host in found or (kinds is not None and kind not in kinds):
            continue
        for event in _read_or_note(segment, damaged):
            if event.id == id:
                found[segment.host] = event
            elif _is_near(event.id, id):
                near.setdefault(segment.host, event)
    found = found or near
    if len(found) > 1:
        hosts = sorted(found)
        takes = shell_command(option("--host", hosts[0]))
        raise UsageError(f"{', '.join(hosts)} have an event '{id}' each", hint=f"{takes} takes one")
    if found:
        return found.popitem()[1]
    if damaged:
        raise damaged[0].error
    raise UsageError(f"there is no event '{id}' in the store", hint="necroscope events lists those there are")


def _is_near(written: str, told: str) -> bool:
    """Whether two ids are of one event: the same kind and number, and nearly the same time."""
    try:
        (kind, time, number), (its_kind, its_time, its_number) = (id.rsplit("-", 2) for id in (written, told))
        if (kind, number) != (its_kind, its_number):
            return False
        times = [datetime.strptime(text, "%Y%m%dT%H%M%S.%fZ") for text in (time, its_time)]
    except ValueError:  # somebody's own word
        return False
    return abs(times[0] - times[1]) <= NEAR


def _read_or_note(segment: StoredSegment, damaged: list[Damage] | None) -> list[StoredEvent]:
    try:
        return read_events(segment)
    except NecroscopeError as error:
        if damaged is None:
            raise
        damaged.append(Damage(segment.folder, error))
        return []


def _read_sealed(path: Path) -> list[tuple[str, Event]]:
    try:
        columns = _native.read_table(path)
        names = [name for name, _ in _record().columns if name in columns]
        rows = zip(*(columns[name] for name in names), strict=True)
        events = [Event(**dict(zip(names, row, strict=True))) for row in rows]
        return list(zip(columns["id"], events, strict=True))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise unreadable_file(path, error) from error


@cache
def _record() -> Record:
    """How an event is spread over columns; half of the time to read a segment's events, if made each time."""
    return Record(Event)
