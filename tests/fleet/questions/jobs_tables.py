"""Tables of a small fleet, for questions about jobs: who was recorded when, and what happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from lab.fleets.written_tables import tables_in_folder, write_fleet_tables
from necroscope.fleet.tables.columns import EVENTS, FACT_SETS, FACTS, SECTIONS, SEGMENTS
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.event import EVENT_KINDS
from necroscope.model.fleet.job import FAILED, Job

SECOND = 10**6
HOUR = 3600 * SECOND
BEGIN = 1_794_967_200 * SECOND  # an hour begins
SEGMENT = 120 * SECOND
NO_EVENTS = {kind.replace("-", "_"): 0 for kind in EVENT_KINDS}


def a_job(id: str, end_us: int | None, hosts: Iterable[str], status: str = FAILED, message: str = "") -> Job:
    """One that began when the range does."""
    return Job("ray", id, status, BEGIN, end_us, tuple(hosts), (), "JOB_ENTRYPOINT_COMMAND_ERROR", 1, message)


def write_tables(
    folder: Path,
    recorded: Mapping[str, Iterable[tuple[int, int]]],
    events: Iterable[tuple[str, int, str]],
    identities: Mapping[str, Mapping[str, str]] | None = None,
    synchronised: bool = True,
) -> FleetTables:
    """Hosts with the spans in which each was recorded, and (host, time, kind) of events."""
    segments = [
        _segment(host, at, min(at + SEGMENT, end), synchronised)
        for host, spans in recorded.items()
        for begin, end in spans
        for at in range(begin, end, SEGMENT)
    ]
    rows = [_event(host, time_us, kind) for host, time_us, kind in events]
    tables = {
        "segments": [pa.Table.from_pylist(segments, SEGMENTS)],
        "events": [pa.Table.from_pylist(rows, EVENTS)],
    }
    if identities:
        tables |= _facts(identities)
    return tables_in_folder(folder, write_fleet_tables(folder, tables))


def _segment(host: str, begin_us: int, end_us: int, synchronised: bool) -> dict[str, object]:
    return {
        **NO_EVENTS,
        "host": host,
        "segment": str(begin_us),
        "boot_id": "b",
        "begin_us": begin_us,
        "end_us": end_us,
        "recorded_us": end_us - begin_us,
        "synchronised": synchronised,
        "cores": 2,
        "samples": 0,
        "facts": "",
    }


def _event(host: str, time_us: int, kind: str) -> dict[str, object]:
    return {
        "host": host,
        "boot_id": "b",
        "segment": "s",
        "facts": "",
        "id": f"{kind}-{time_us}-{host}",
        "kind": kind,
        "time_us": time_us,
        "time_ns": time_us * 1000,
        "sequence": 0,
        "rule": "",
        "text": "",
        "from_user_space": False,
    }


def _facts(identities: Mapping[str, Mapping[str, str]]) -> dict[str, list[pa.Table]]:
    facts = [{"host": host, "time_us": BEGIN, "facts": f"facts-{host}"} for host in identities]
    sets = [
        {"facts": f"facts-{host}", "section": "identity", "section_id": f"section-{host}"}
        for host in identities
    ]
    sections = [
        {"section_id": f"section-{host}", "name": name, "value": value}
        for host, its in identities.items()
        for name, value in its.items()
    ]
    return {
        "facts": [pa.Table.from_pylist(facts, FACTS)],
        "fact_sets": [pa.Table.from_pylist(sets, FACT_SETS)],
        "sections": [pa.Table.from_pylist(sections, SECTIONS)],
    }
