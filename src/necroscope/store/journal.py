"""The journal of an open segment: moments, anchors and events in checksummed frames, as they happen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from necroscope.sources.plain_files import read_plain
from necroscope.store.clock import Anchor
from necroscope.store.frames import frame, payloads
from necroscope.store.segment import Moment
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.tables import Shape, shape_of

T = TypeVar("T")

JOURNAL = "journal.frames"
LOCK = ".lock"  # held by who writes or seals; the journal itself could be held by whoever may read it
MAX_JOURNAL_BYTES = 64 << 20  # a minute of 96 CPUs and 600 processes takes 8 MB
LAYOUT, MOMENT = b'["layout",', b'["moment",'  # how the payloads of these begin
OTHER_VERSION = "recorded by another version of necroscope"


@dataclass(frozen=True, slots=True)
class End:
    """How a segment ended."""

    time_ns: int
    why: str  # full, stopped, clock-step, capture, event


@dataclass(slots=True)
class Journal:
    """What was written until now. Without an end, the recorder still runs or was killed."""

    moments: list[Moment] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    end: End | None = None
    clip_begin_ns: int | None = None
    clip_end_ns: int | None = None


@cache
def shapes() -> dict[str, Shape]:
    """Return the shape of every source that we know, by its id."""
    # Imported here: to seal a journal that says how its tables look takes no source.
    from necroscope.sources.catalog import SOURCES

    return {source.id: shape_of(source) for source in SOURCES}


@cache
def layout_payload() -> bytes:
    """Return how the tables of all sources look: source, whether it has many values, tables and columns."""
    return _payload("layout", [[source, shape.is_many, shape.layout] for source, shape in shapes().items()])


def layout_frame() -> bytes:
    """How the tables in the journal look, to be its first frame."""
    return frame(layout_payload())


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


def parse_moment(payload: bytes) -> Moment:
    """Parse the payload of a moment: what the sources gave. Those that we do not know are left out."""
    _, (time_ns, readings, cost_ns) = json.loads(payload)
    known = {name: _decoded(name, rows) for name, rows in readings.items() if name in shapes()}
    return Moment(time_ns, known, cost_ns)


def read_journal(data: bytes, parse: Callable[[bytes], Moment] = parse_moment) -> Journal:
    """Read all that is whole in a journal. Frames of a kind that we do not know are left out."""
    journal = Journal()
    for payload in payloads(data):
        if payload.startswith(MOMENT):
            journal.moments.append(parse(payload))
            continue
        kind, content = json.loads(payload)
        match kind:
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
    head = MOMENT + b"["
    last = None
    for payload in payloads(data):
        if payload.startswith(head):
            last = int(payload[len(head) : payload.index(b",", len(head))])
    return last


def _frame(kind: str, content: Any) -> bytes:
    return frame(_payload(kind, content))


def _payload(kind: str, content: Any) -> bytes:
    return json.dumps([kind, content], separators=(",", ":")).encode()


def _encoded(source: str, reading: Reading[Any]) -> Sequence[Any] | Mapping[str, str]:
    if reading.absence is not None:
        return {"absence": reading.absence.name, "detail": reading.detail}
    return shapes()[source].rows(reading.value)


def _decoded(source: str, rows: Any) -> Reading[Any]:
    shape = shapes()[source]
    if isinstance(rows, dict):
        return Reading(absence=Absence[rows["absence"]], detail=rows["detail"])
    if not shape.fits(rows):
        return Reading(absence=Absence.BROKEN, detail=OTHER_VERSION)
    return Reading(shape.value(rows))


def _known(type_: type[T], content: Mapping[str, Any]) -> T:
    """A noun from its fields; one that a newer version added is left out."""
    return type_(**{name: content[name] for name in get_type_hints(type_) if name in content})
