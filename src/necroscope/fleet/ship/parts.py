"""The small documents that a host sends, one for a thing that it tells of. Their names sort by time.

segment-20260415T100000Z-5c1f5f0e   what is known of a segment, and its events
facts-20260415T10                   what the host was made of in that hour
files-20260415T100000Z-5c1f5f0e     the whole segment, its files named by their content
counters-20260415T100000Z-5c1f5f0e  the same without its samples
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from necroscope.errors import StoreError
from necroscope.fleet.place.canonical import SHORT, canonical, digest_of
from necroscope.model.event import Event
from necroscope.model.fleet.segment_summary import SegmentSummary
from necroscope.store.store import StoredSegment

SCHEMA = 1
SEGMENT, FACTS, FILES, COUNTERS = "segment", "facts", "files", "counters"  # how names begin
WHOLE = (FILES, COUNTERS)  # those that bring large files along
SEGMENT_NAME = re.compile(r"\d{8}T\d{6}Z(-\d{1,3})?")
BOOT = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Part:
    """A document and the name that it has but for its digest."""

    name: str
    content: bytes

    @property
    def file_name(self) -> str:
        """As it is called in the spool and in the place."""
        return f"{self.name}-{digest_of(self.content)[:SHORT]}.json"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file of a whole segment; its bytes are the blob of that digest."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ToldEvent:
    """An event with its id and its time of day."""

    id: str
    time_us: int
    event: Event


def part_name(kind: str, segment: str, boot_id: str) -> str:
    """The name of a part about a segment. StoreError where the segment's own name cannot be part of it."""
    if not SEGMENT_NAME.fullmatch(segment) or not BOOT.fullmatch(boot_id[:8]):
        raise StoreError(f"{segment} of boot '{boot_id}' is not the name of a recorded segment")
    return f"{kind}-{segment}-{boot_id[:8]}"


def segment_part(summary: SegmentSummary, events: Sequence[ToldEvent]) -> Part:
    """What is known of a segment, and its events."""
    fields = asdict(summary)
    host, counts = fields.pop("host"), fields.pop("events")
    told = [{"id": one.id, "time_us": one.time_us, **asdict(one.event)} for one in events]
    document = {"segment": fields, "counts": counts, "events": told}
    name = part_name(SEGMENT, summary.segment, summary.boot_id)
    return _part(name, SEGMENT, host, document)


def facts_part(host: str, hour: str, time_us: int, id: str, sections: Mapping[str, str]) -> Part:
    """What a host was made of in an hour: `sections` are the digests of their blobs."""
    document = {"time_us": time_us, "facts": id, "sections": dict(sections)}
    return _part(f"{FACTS}-{hour}", FACTS, host, document)


def files_part(kind: str, host: str, segment: StoredSegment, files: Sequence[SegmentFile]) -> Part:
    """The files of a segment, all of them or the counters alone."""
    document = {
        "segment": segment.folder.name,
        "boot_id": segment.boot_id,
        "begin_us": segment.begin_ns // 1000,
        "end_us": segment.end_ns // 1000,
        "files": [asdict(file) for file in files],
    }
    return _part(part_name(kind, segment.folder.name, segment.boot_id), FILES, host, document)


def _part(name: str, kind: str, host: str, document: Mapping[str, Any]) -> Part:
    return Part(name, canonical({"schema": SCHEMA, "kind": kind, "host": host, **document}))
