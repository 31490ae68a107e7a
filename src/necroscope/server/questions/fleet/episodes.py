"""The events that begin an episode."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.fleet.episodes import first_events
from necroscope.fleet.tables.duck import viewed
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.signals.thresholds import load_thresholds

QUERY = """
SELECT host, facts, segment, id, kind, time_us, text, device, bus, unit, core, process, phase FROM events
WHERE list_contains(?, CAST(kind AS VARCHAR)) AND time_us >= ? AND time_us < ? ORDER BY time_us, id
"""
UNSEEN = ["bus", "unit", "process", "phase"]  # they only say which events are one episode


@dataclass(frozen=True, slots=True)
class HostEpisode:
    """The first event of an episode of a host of the fleet."""

    host: str
    facts: str
    segment: str
    id: str
    kind: str
    time_us: int
    text: str
    device: str
    core: int | None


def read_episodes(tables: FleetTables, span: FleetSpan) -> list[HostEpisode]:
    """Return the first events of the episodes of a range, the oldest first."""
    parameters = [list(span.kinds), span.begin_us, span.end_us]
    with viewed({"events": tables.paths("events", span.begin_us, span.end_us)}) as connection:
        rows = connection.sql(QUERY, params=parameters).to_arrow_table()
    first = first_events(rows, load_thresholds(None)).drop_columns(UNSEEN).to_pylist()
    found = [
        HostEpisode(**{**row, **{name: row[name] or "" for name in ("facts", "text", "device")}})
        for row in first
    ]
    return sorted(found, key=lambda one: (one.time_us, one.host, one.id))
