"""Parts as hosts ship them, built by hand; and all rows of a table, to be compared with the truth."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq

from necroscope.fleet.place.canonical import canonical
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.read_tables import read_tables

BEGIN_US = 1_776_247_200 * 10**6  # 2026-04-15T10:00:00Z
BOOT_ID = "5c1f5f0e-0000-4000-8000-000000000001"
MINUTE_US = 60 * 10**6


def put_part(place: Place, host: str, name: str, document: dict[str, Any]) -> str:
    """An object in a host's inbox."""
    content = canonical({"schema": 1, "host": host, **document})
    path = f"hosts/{host}/inbox/{name}-{hashlib.sha256(content).hexdigest()[:16]}.json"
    place.write(path, content)
    return path


def put_segment(place: Place, host: str, begin_us: int = BEGIN_US, resets: int = 0, **more: Any) -> str:
    """What a host tells of a segment, with so many NIC resets."""
    folder = f"{datetime.fromtimestamp(begin_us // 10**6, UTC):%Y%m%dT%H%M%SZ}"
    segment = {
        "segment": folder,
        "boot_id": BOOT_ID,
        "begin_us": begin_us,
        "end_us": begin_us + 2 * MINUTE_US,
        "recorded_us": 2 * MINUTE_US,
        "synchronised": True,
        "cores": 4,
        "samples": 100,
        "saturated_core_us": 0,
        "zombies": 10,
        "tracked": 20,
        "in_use": 10,
        "wall_level": None,
        "facts": "",
        **more,
    }
    events = [_event(begin_us, number) for number in range(resets)]
    document = {"kind": "segment", "segment": segment, "counts": {"nic-reset": resets}, "events": events}
    return put_part(place, host, f"segment-{folder}-{BOOT_ID[:8]}", document)


def put_facts(
    place: Place, host: str, time_us: int = BEGIN_US, **sections: dict[str, str]
) -> tuple[str, str]:
    """A host's facts; the name of the part and the id of the facts."""
    ids = {}
    for section, facts in sections.items():
        content = canonical({"section": section, "facts": facts})
        ids[section] = hashlib.sha256(content).hexdigest()
        place.write(f"hosts/{host}/blobs/{ids[section]}", content)
    facts_id = hashlib.sha256(canonical(ids)).hexdigest()
    hour = f"{datetime.fromtimestamp(time_us // 10**6, UTC):%Y%m%dT%H}"
    document = {"kind": "facts", "time_us": time_us, "facts": facts_id, "sections": ids}
    return put_part(place, host, f"facts-{hour}", document), facts_id


def put_files(place: Place, host: str, files: dict[str, bytes], begin_us: int = BEGIN_US) -> str:
    """A whole segment."""
    folder = f"{datetime.fromtimestamp(begin_us // 10**6, UTC):%Y%m%dT%H%M%SZ}"
    rows = []
    for name, content in {"segment.json": folder.encode(), **files}.items():
        sha256 = hashlib.sha256(content).hexdigest()
        place.write(f"hosts/{host}/blobs/{sha256}", content)
        rows.append({"name": name, "bytes": len(content), "sha256": sha256})
    document: dict[str, Any] = {"kind": "files", "segment": folder, "boot_id": BOOT_ID, "files": rows}
    document |= {"begin_us": begin_us, "end_us": begin_us + 2 * MINUTE_US}
    return put_part(place, host, f"files-{folder}-{BOOT_ID[:8]}", document)


def rows_of(place: Place, table: str) -> list[dict[str, Any]]:
    """All rows of a table as the index has them now."""
    return [row for path in read_tables(place).paths(table) for row in pq.read_table(path).to_pylist()]


def inbox(place: Place) -> list[str]:
    """What waits in all inboxes."""
    return [stored.name for stored in place.below("hosts/") if "/inbox/" in stored.name]


def _event(begin_us: int, number: int) -> dict[str, Any]:
    return {
        "id": f"nic-reset-{begin_us}-{number}",
        "kind": "nic-reset",
        "time_us": begin_us + number * 10**6,
        "time_ns": begin_us * 1000 + number,
        "sequence": number,
        "rule": "ena-reset",
        "text": "ena: reset",
        "stall_seconds": 5.5,
        "queue": None,
        "napi_scheduled": True,
    }
