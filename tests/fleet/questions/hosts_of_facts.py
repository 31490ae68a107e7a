"""Tables of small fleets, of hosts with known facts and events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from lab.fleets.written_tables import tables_in_folder, write_fleet_tables
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.timestamp import HOUR_US

BEGIN_US = 1_776_247_200 * 10**6  # 2026-04-15T10:00:00Z
HOURS = 4
END_US = BEGIN_US + HOURS * HOUR_US
Facts = Mapping[str, Mapping[str, str]]  # by section and name


@dataclass(frozen=True, slots=True)
class MadeHost:
    """One host: what it is made of, when something happened, and for how long it was recorded."""

    name: str
    facts: Facts
    events_us: Sequence[int] = ()  # after BEGIN_US
    hours: int = HOURS
    kind: str = "nic-reset"
    facts_before: Facts | None = None  # another set, in the first of its hours
    is_told: bool = field(default=True)  # its segments and events say which facts it had


def write_hosts(folder: Path, hosts: Sequence[MadeHost]) -> FleetTables:
    """The tables of a fleet."""
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in ("segments", "events", "facts")}
    sets: dict[str, Facts] = {}
    for host in hosts:
        ids = [_id(facts) for facts in (host.facts_before or host.facts, host.facts)]
        sets |= dict(zip(ids, (host.facts_before or host.facts, host.facts), strict=True))
        for hour in range(host.hours):
            facts, begin_us = ids[hour > 0], BEGIN_US + hour * HOUR_US
            rows["facts"].append({"host": host.name, "time_us": begin_us, "facts": facts})
            segment = {"host": host.name, "segment": f"s{hour}", "boot_id": "b", "begin_us": begin_us}
            more = {"recorded_us": HOUR_US, "facts": facts if host.is_told else ""}
            rows["segments"].append({**segment, **more})
        for number, event_us in enumerate(host.events_us):
            facts = ids[event_us >= HOUR_US] if host.is_told else ""
            event = {"host": host.name, "boot_id": "b", "kind": host.kind, "facts": facts, "id": f"e{number}"}
            rows["events"].append({**event, "time_us": BEGIN_US + event_us, "time_ns": event_us * 1000})
    rows |= {"fact_sets": [], "sections": []}
    for facts, sections in sets.items():
        for section, values in sections.items():
            section_id = _id({section: values})
            rows["fact_sets"].append({"facts": facts, "section": section, "section_id": section_id})
            rows["sections"] += [{"section_id": section_id, "name": n, "value": v} for n, v in values.items()]
    rows["sections"] = [dict(row) for row in {tuple(row.items()): row for row in rows["sections"]}.values()]
    index = write_fleet_tables(
        folder, {name: [pa.Table.from_pylist(some)] for name, some in rows.items() if some}
    )
    return tables_in_folder(folder, index)


def _id(document: object) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
