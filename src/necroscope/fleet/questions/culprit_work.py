"""One event: bring the samples around it, and see who ran more than in the quiet seconds of the same host.

A plain function of plain values, so that it runs wherever the engine has it run; a worker brings the samples
itself, from the place's address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.culprit import culprits_around
from necroscope.errors import NecroscopeError, NoSamplesError
from necroscope.fleet.place.place import open_place
from necroscope.fleet.tables.download_segments import bring_files, brought_store
from necroscope.model.culprit import Ranking
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import StoredSegment, read_segment
from necroscope.store.wall_time import with_right_clocks

AFTER_NS = SECOND_NS  # what an event set off; as `culprit` has it
LONGEST_NS = 60 * SECOND_NS  # of an event that lasts
SATURATED = "core-saturated"  # it is the time for which it was


@dataclass(frozen=True, slots=True)
class ShippedSegment:
    """A segment that can be brought."""

    name: str
    begin_us: int
    end_us: int
    files: tuple[tuple[str, int, str], ...]  # name, size, sha256


@dataclass(frozen=True, slots=True)
class EventToCompare:
    """An event, and the segments around it that its host has shipped."""

    host: str
    boot_id: str
    id: str
    kind: str
    time_us: int
    time_ns: int  # on the clock of its boot
    core: int | None
    seconds: float | None
    segments: tuple[ShippedSegment, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparing:
    """How events are compared, and from where their samples come."""

    address: str  # of the place
    window_seconds: float
    thresholds: Thresholds


@dataclass(frozen=True, slots=True)
class ComparedEvent:
    """What came of it: a ranking, or why there is none."""

    ranking: Ranking | None
    why_not: str = ""


def compare_event(comparing: Comparing, event: EventToCompare) -> ComparedEvent:
    """The ranking of one event. No error of a place or of a recording leaves it."""
    try:
        ranking = rank_event(event, bring_recordings(comparing.address, [event]), comparing)
    except NecroscopeError as error:
        return ComparedEvent(None, error.what)
    return ComparedEvent(None, ranking.note) if ranking.note else ComparedEvent(ranking)


def bring_recordings(address: str, events: Sequence[EventToCompare]) -> list[StoredSegment]:
    """Bring the segments around some events of one boot of a host."""
    place, store = open_place(address), brought_store(address)
    wanted = {one.name: one for event in events for one in event.segments}
    folders = [bring_files(place, events[0].host, name, one.files, store) for name, one in wanted.items()]
    segments = with_right_clocks([read_segment(folder) for folder in folders])
    return [segment for segment in segments if segment.boot_id == events[0].boot_id]


def rank_event(event: EventToCompare, segments: Sequence[StoredSegment], comparing: Comparing) -> Ranking:
    """Who stands out before an event in segments of its boot. NoSamplesError: there are none then."""
    ordered = sorted(segments, key=lambda segment: segment.begin_ns)
    window = window_of(event, ordered, comparing.window_seconds)
    ranking, _ = culprits_around(ordered, [window], comparing.thresholds, [])
    return ranking


def window_of(event: EventToCompare, segments: Sequence[StoredSegment], window_seconds: float) -> Selection:
    """The seconds before an event, and what it set off, on its core. NoSamplesError: of another boot."""
    ordered = sorted(segments, key=lambda segment: segment.begin_ns)
    near = [s for s in ordered if s.begin_ns <= event.time_ns + s.offset_ns <= s.end_ns] or ordered
    if not near:
        raise NoSamplesError("its segment is of another boot")
    utc_ns = event.time_ns + near[0].offset_ns
    after_ns = max(AFTER_NS, min(int((event.seconds or 0) * SECOND_NS), LONGEST_NS))
    before_ns = 0 if event.kind == SATURATED else int(window_seconds * SECOND_NS)
    return Selection(
        utc_ns - before_ns,
        utc_ns + after_ns,
        cpus=() if event.core is None else (event.core,),
        idle=True,
        boot_id=event.boot_id,
        offset_ns=near[0].offset_ns,
    )
