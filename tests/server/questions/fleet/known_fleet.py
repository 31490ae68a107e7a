"""A fleet of known content: twelve hosts in two zones, four hours, a few resets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lab.fleets.written_tables import write_fleet_tables
from necroscope.fleet.tables.columns import TABLES
from necroscope.model.timestamp import HOUR_US
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.recorded_store import RecordedStore

BEGIN_US = 1_794_787_200 * 10**6  # 2026-11-16T00:00:00Z
SEGMENT_US = 600 * 10**6
HOURS = 4
ZONES = ("a", "b")
SILENT = "host-11"  # it shipped no facts
LATE = "host-3"  # it was recorded from the third hour on
SPAN = FleetSpan(BEGIN_US, BEGIN_US + HOURS * HOUR_US)
Row = Mapping[str, Any]


def hosts() -> list[str]:
    return [f"host-{number}" for number in range(12)]


def facts_of(host: str) -> str:
    """Even hosts are in zone a, odd ones in b; what a host is made of has an id of its own."""
    return "" if host == SILENT else f"facts-of-{host}"


def zone_of(host: str) -> str:
    return ZONES[int(host.partition("-")[2]) % 2]


def at_us(hour: float) -> int:
    return BEGIN_US + int(hour * HOUR_US)


def reset(host: str, hour: float, device: str = "eth0", **more: Any) -> Row:
    """A reset some hours after the beginning."""
    time_us = at_us(hour)
    return {
        "host": host,
        "boot_id": f"boot-of-{host}",
        "segment": segment_name(time_us),
        "facts": facts_of(host),
        "id": f"nic-reset-{host}-{time_us}-{device}",
        "kind": "nic-reset",
        "time_us": time_us,
        "time_ns": time_us * 1000,
        "sequence": 0,
        "text": f"{device}: reset",
        "device": device,
        **more,
    }


def segment_name(time_us: int) -> str:
    return f"segment-{(time_us - BEGIN_US) // SEGMENT_US}"


def segments() -> list[Row]:
    every = [
        {
            "host": host,
            "segment": segment_name(begin_us),
            "boot_id": f"boot-of-{host}",
            "begin_us": begin_us,
            "end_us": begin_us + SEGMENT_US,
            "recorded_us": SEGMENT_US,
            "facts": facts_of(host),
            "cores": 2,
        }
        for host in hosts()
        for begin_us in range(BEGIN_US, BEGIN_US + HOURS * HOUR_US, SEGMENT_US)
    ]
    return [row for row in every if row["host"] != LATE or int(str(row["begin_us"])) >= at_us(2)]


def facts() -> dict[str, list[Row]]:
    known = [host for host in hosts() if host != SILENT]
    return {
        "facts": [{"host": host, "time_us": BEGIN_US, "facts": facts_of(host)} for host in known],
        "fact_sets": [
            {"facts": facts_of(host), "section": section, "section_id": f"{section}-of-{host}"}
            for host in known
            for section in ("labels", "kernel")
        ],
        "sections": [
            {"section_id": f"labels-of-{host}", "name": name, "value": value}
            for host in known
            for name, value in (("zone", zone_of(host)), ("number", host.partition("-")[2]))
        ],
    }


def write_known(folder: Path, events: Sequence[Row], **more: Sequence[Row]) -> Path:
    """Write the tables of the fleet with these events."""
    rows = {"segments": segments(), "events": events, **facts(), **more}
    write_fleet_tables(
        folder,
        {
            name: [pa.Table.from_pylist([dict(row) for row in some], schema=TABLES[name])]
            for name, some in rows.items()
        },
    )
    return folder


def known_fleet(folder: Path, events: Sequence[Row], **more: Sequence[Row]) -> FleetStore:
    """The same, opened, beside an empty store."""
    return FleetStore(str(write_known(folder / "place", events, **more)), RecordedStore(folder / "store"))
