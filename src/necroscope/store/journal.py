"""The journal of an open segment: moments, anchors and events in checksummed frames, as they happen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from necroscope.sources.catalog import SOURCES
from necroscope.sources.plain_files import read_plain
from necroscope.sources.source import Source
from necroscope.store.clock import Anchor
from necroscope.store.frames import frame, payloads
from necroscope.store.segment import Moment
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.tables import Tables, shape_of

T = TypeVar("T")
M = TypeVar("M")

JOURNAL = "journal.frames"
LOCK = ".lock"  # held by who writes or seals; the journal itself could be held by whoever may read it
MAX_JOURNAL_BYTES = 64 << 20  # a minute of 96 CPUs and 600 processes takes 8 MB
BY_ID = {source.id: source for source in SOURCES}


@dataclass(frozen=True, slots=True)
class End:
    """How a segment ended."""

    time_ns: int
    why: str  # full, stopped, clock-step, capture, event


@dataclass(frozen=True, slots=True)
class MomentRows:
    """A moment as it is written: rows of tables, of which no objects were made."""

    time_ns: int
    readings: Mapping[str, Reading[Tables]]
    cost_ns: Mapping[str, int]

    def value(self, source: Source[T]) -> T | None:
        """What a source said; None if it was not due, or absent."""
        reading = self.readings.get(source.id)
        value: T | None = _decoded(source.id, reading).value if reading else None
        return value


@dataclass(slots=True)
class Journal(Generic[M]):
    """What was written until now. Without an end, the recorder still runs or was killed."""

    moments: list[M] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    end: End | None = None
    clip_begin_ns: int | None = None
    clip_end_ns: int | None = None


def moment_frame(moment: Moment) -> bytes:
    """A moment to append."""
    readings = {source: _encoded(source, reading) for source, reading in moment.readings.items()}
    return _frame("moment", [moment.time_ns, readings, dict(moment.cost_ns)])


def anchor_frame(anchor: Anchor) -> bytes:
    """An anchor to append."""
    return _frame("anchor", asdict(anchor))


def event_frame(event: Event) -> bytes:
    """An event to append."""
    return _frame("event", asdict(event))


def end_frame(end: End) -> bytes:
    """The last frame of a segment."""
    return _frame("end", asdict(end))


def clip_frame(side: str, time_ns: int) -> bytes:
    """Only samples from (`begin`) or until (`end`) a moment belong to this segment."""
    return _frame(f"clip_{side}", time_ns)


def journal_bytes(folder: Path) -> bytes:
    """Return what is in the journal of a segment.

    Raises FileNotFoundError once it is sealed or removed, StoreError if it is not a journal.
    """
    try:
        return read_plain(folder / JOURNAL, MAX_JOURNAL_BYTES)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        raise damaged_segment(f"{folder / JOURNAL}: {error.strerror}") from error


def read_journal(data: bytes) -> Journal[Moment]:
    """All that is whole in a journal, with the readings as their sources gave them."""
    rows = read_rows(data)
    moments = [
        Moment(
            moment.time_ns,
            {name: _decoded(name, reading) for name, reading in moment.readings.items()},
            moment.cost_ns,
        )
        for moment in rows.moments
    ]
    return Journal(moments, rows.anchors, rows.events, rows.end, rows.clip_begin_ns, rows.clip_end_ns)


def read_rows(data: bytes) -> Journal[MomentRows]:
    """All that is whole in a journal. Frames of a kind that we do not know are left out."""
    journal = Journal[MomentRows]()
    for payload in payloads(data):
        kind, content = json.loads(payload)
        match kind:
            case "moment":
                time_ns, readings, cost_ns = content
                known = {name: _checked(name, rows) for name, rows in readings.items() if name in BY_ID}
                journal.moments.append(MomentRows(time_ns, known, cost_ns))
            case "anchor":
                journal.anchors.append(_known(Anchor, content))
            case "event":
                journal.events.append(_known(Event, content))
            case "end":
                journal.end = _known(End, content)
            case "clip_begin":
                journal.clip_begin_ns = content
            case "clip_end":
                journal.clip_end_ns = content
    return journal


def last_moment_ns(data: bytes) -> int | None:
    """When the last whole moment of a journal was read; much cheaper than reading all of it."""
    head = b'["moment",['
    last = None
    for payload in payloads(data):
        if payload.startswith(head):
            last = int(payload[len(head) : payload.index(b",", len(head))])
    return last


def _frame(kind: str, content: Any) -> bytes:
    return frame(json.dumps([kind, content], separators=(",", ":")).encode())


def _encoded(source: str, reading: Reading[Any]) -> Sequence[Any] | Mapping[str, str]:
    if reading.absence is not None:
        return {"absence": reading.absence.name, "detail": reading.detail}
    return shape_of(BY_ID[source]).rows(reading.value)


def _checked(source: str, rows: Any) -> Reading[Tables]:
    if isinstance(rows, dict):
        return Reading(absence=Absence[rows["absence"]], detail=rows["detail"])
    if not shape_of(BY_ID[source]).fits(rows):
        return Reading(absence=Absence.BROKEN, detail="recorded by another version of necroscope")
    return Reading(rows)


def _decoded(source: str, reading: Reading[Tables]) -> Reading[Any]:
    if reading.value is None:
        return reading
    return Reading(shape_of(BY_ID[source]).value(reading.value))


def _known(type_: type[T], content: Mapping[str, Any]) -> T:
    """A noun from its fields; one that a newer version added is left out."""
    return type_(**{name: content[name] for name in get_type_hints(type_) if name in content})
