"""A fleet whose hosts have shipped whole segments with samples of known work."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from lab.fleets.written_tables import write_fleet_tables
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.store.store import StoredSegment
from necroscope.store.stored_events import read_events


@dataclass(frozen=True, slots=True)
class SampledHost:
    """A host and what it has recorded."""

    name: str
    segments: Sequence[StoredSegment]
    has_shipped: bool = True  # the samples; events always


def ship_hosts(folder: Path, hosts: Sequence[SampledHost]) -> tuple[FolderPlace, FleetTables]:
    """A place with their segments, and its tables."""
    folder.mkdir(exist_ok=True)
    place = FolderPlace(folder)
    files: list[dict[str, object]] = []
    events: list[dict[str, object]] = []
    for host in hosts:
        for segment in host.segments:
            events += _events(host.name, segment)
            if host.has_shipped:
                files += _files(place, host.name, segment)
    rows = {"events": events, "files": files}
    write_fleet_tables(folder, {name: [pa.Table.from_pylist(some)] for name, some in rows.items() if some})
    return place, read_tables(place)


def _events(host: str, segment: StoredSegment) -> list[dict[str, object]]:
    named = {"host": host, "boot_id": segment.boot_id, "segment": segment.folder.name}
    return [
        {**asdict(one.event), **named, "id": one.id, "time_us": one.utc_ns // 1000}
        for one in read_events(segment)
    ]


def _files(place: FolderPlace, host: str, segment: StoredSegment) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for path in sorted(path for path in segment.folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        place.write(f"hosts/{host}/blobs/{digest}", content)
        rows.append(
            {
                "host": host,
                "segment": segment.folder.name,
                "boot_id": segment.boot_id,
                "begin_us": segment.begin_ns // 1000,
                "end_us": segment.end_ns // 1000,
                "name": str(path.relative_to(segment.folder)),
                "bytes": len(content),
                "sha256": digest,
            }
        )
    return rows
