"""Recorded segments built by hand, open and sealed, for tests of what is written and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from necroscope.agent.rolling import make_folder, open_description
from necroscope.model.event import Event
from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.sources.cores import CORES
from necroscope.sources.source import Source
from necroscope.store.clock import Anchor
from necroscope.store.counters import read_tables, write_counters
from necroscope.store.journal import (
    JOURNAL,
    End,
    anchor_frame,
    end_frame,
    event_frame,
    moment_frame,
)
from necroscope.store.seal import seal_recorded
from necroscope.store.segment import Moment
from necroscope.store.segment_description import Clock, SegmentDescription
from necroscope.store.store import DESCRIPTION, SEALED, StoredSegment, read_segment
from tests.segments import BEGIN_NS, core_seconds, segment_of

SECOND_NS = 10**9
UTC_NS = 1_776_247_200 * SECOND_NS  # 2026-04-15T10:00:00Z
OFFSET_NS = UTC_NS - BEGIN_NS
HOST = "node-17"
BOOT_ID = "5c1f5f0e-0000-4000-8000-000000000001"


def seconds_of(*cores: Sequence[str]) -> list[Moment]:
    """One moment a second, of cores that spend each second as given; the first one is at UTC_NS."""
    return list(segment_of({CORES: core_seconds(*cores)}).moments)


def moment_of(second: float, values: Mapping[Source[Any], Any]) -> Moment:
    """A moment some seconds after BEGIN_NS."""
    readings = {
        source.id: value if isinstance(value, Reading) else Reading(value) for source, value in values.items()
    }
    return Moment(BEGIN_NS + int(second * 1e9), readings, dict.fromkeys(readings, 1000))


def event_of(kind: str, second: float, **more: Any) -> Event:
    """An event some seconds after BEGIN_NS."""
    return Event(kind, BEGIN_NS + int(second * 1e9), "a test", f"{kind} at {second:g}", **more)


def anchor_at(time_ns: int, offset_ns: int = OFFSET_NS, **more: Any) -> Anchor:
    """All clocks at a moment; the machine was never suspended."""
    return Anchor(time_ns, time_ns + offset_ns, **{"boot_ns": time_ns, "raw_ns": time_ns, **more})


def listed_segment(
    begin_ns: int, end_ns: int, clock: Clock | None = None, boot_id: str = BOOT_ID
) -> StoredSegment:
    """A sealed segment (times in UTC) of which nothing but the description is read."""
    clock, host = clock or Clock(0), Labels("node", boot_id=boot_id)
    described = SegmentDescription(SEALED, host, begin_ns, end_ns, clock)
    folder = Path(f"/{begin_ns}")
    return StoredSegment(folder, host.hostname, begin_ns, end_ns, clock.offset_ns, described)


def open_segment(
    root: Path,
    moments: Sequence[Moment],
    events: Sequence[Event] = (),
    *,
    anchor: Anchor | None = None,
    boot_id: str = BOOT_ID,
    host: str = HOST,
    ended: str = "",
) -> StoredSegment:
    """A segment as a recorder leaves it on disk; without an end, as one that was killed does."""
    begin_ns = moments[0].time_ns if moments else BEGIN_NS
    anchor = anchor or anchor_at(begin_ns)
    (root / host).mkdir(parents=True, exist_ok=True)
    folder = make_folder(root / host, begin_ns + anchor.offset_ns)
    document = open_description(Labels(hostname=host, boot_id=boot_id, cores_online=2), begin_ns, anchor)
    (folder / DESCRIPTION).write_text(json.dumps(document))
    frames = [anchor_frame(anchor), *map(moment_frame, moments), *map(event_frame, events)]
    if ended:
        frames.append(end_frame(End(moments[-1].time_ns, ended)))
    (folder / JOURNAL).write_bytes(b"".join(frames))
    return read_segment(folder)


def write_moments(folder: Path, moments: Sequence[Moment]) -> None:
    """Write the counters of moments, as they come out of a journal."""
    journal, tables = read_tables(b"".join(map(moment_frame, moments)))
    write_counters(folder, journal.moments, tables)


def sealed_segment(
    root: Path, moments: Sequence[Moment], events: Sequence[Event] = (), **more: Any
) -> StoredSegment:
    """The same, sealed."""
    segment = open_segment(root, moments, events, **{"ended": "full", **more})
    seal_recorded(segment, no_profile)
    return read_segment(segment.folder)


def no_profile(*_: object) -> Mapping[str, Any]:
    """Seals no samples."""
    return {}
