"""When episodes began: events of one host and kind that follow each other closely are one."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.fleet.tables.opened import FleetTables
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.questions.fleet.rows import all_rows, opened, see

APART_US = 60 * 10**6
QUERY = f"""
SELECT host, facts, segment, id, kind, time_us, text, device, core FROM (
    SELECT *, lag(time_us) OVER (
        PARTITION BY host, kind, CASE WHEN kind = 'nic-reset' THEN device END ORDER BY time_us, id
    ) AS before_us
    FROM events WHERE list_contains(?, CAST(kind AS VARCHAR)) AND time_us >= ? AND time_us < ?
) WHERE before_us IS NULL OR time_us - before_us > {APART_US} ORDER BY time_us, host, id
"""


@dataclass(frozen=True, slots=True)
class Episode:
    """The first event of an episode."""

    host: str
    facts: str
    segment: str
    id: str
    kind: str
    time_us: int
    text: str
    device: str
    core: int | None


def read_episodes(tables: FleetTables, span: FleetSpan) -> list[Episode]:
    """The episodes of a range, the oldest first."""
    with opened() as connection:
        see(connection, tables, ("events",), span.begin_us, span.end_us)
        rows = all_rows(connection, QUERY, (list(span.kinds), span.begin_us, span.end_us))
    return [
        Episode(host, facts or "", segment, id, kind, time_us, text or "", device or "", core)
        for host, facts, segment, id, kind, time_us, text, device, core in rows
    ]
