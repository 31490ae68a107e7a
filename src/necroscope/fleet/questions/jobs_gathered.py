"""What `fleet jobs` needs of the tables: who was recorded how long, events, segments near ends of jobs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.fleet_tables import FleetTables

SHORTEST_BUCKET_US = 60 * 10**6
ADDRESSES = ("address", "instance_id")  # facts of the section `identity`

SPAN = ("host", "begin_us", "end_us")

Span = tuple[int, int]  # begin and end, in microseconds


@dataclass(frozen=True, slots=True)
class Recorded:
    """Hosts, and how long each was recorded in a range."""

    us: Mapping[str, int]
    unsynchronised: frozenset[str]  # whose clock was not held to be right at some time
    longest_us: int  # of all segments


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """An event of a host."""

    host: str
    time_us: int
    kind: str
    id: str


def gather_recorded(tables: FleetTables, engine: Engine, begin_us: int, end_us: int) -> Recorded:
    """All hosts that were recorded in a range."""
    gathering = Gathering(
        "segments",
        ("host",),
        (
            ("recorded_us", "sum", "sum(recorded_us)"),
            ("unsynchronised", "sum", "sum(CASE WHEN synchronised THEN 0 ELSE 1 END)"),
            ("longest_us", "max", "max(end_us - begin_us)"),
        ),
    )
    if not tables.paths("segments", begin_us, end_us):
        return Recorded({}, frozenset(), 0)
    rows = engine.gather(tables, gathering, begin_us, end_us).to_pylist()
    return Recorded(
        {row["host"]: row["recorded_us"] for row in rows},
        frozenset(row["host"] for row in rows if row["unsynchronised"]),
        max((row["longest_us"] for row in rows), default=0),
    )


def gather_events(
    tables: FleetTables, engine: Engine, range_us: Span, hosts: Collection[str], kinds: Collection[str]
) -> dict[str, tuple[NodeEvent, ...]]:
    """The events of some kinds on some hosts, in the order of time."""
    if not hosts or not tables.paths("events", *range_us):
        return {}
    gathering = Gathering(
        "events",
        ("time_us", "host", "kind", "id"),
        (("events", "sum", "count(*)"),),
        time="time_us",
        where=f"kind IN ({_list(kinds)}) AND host IN ({_list(hosts)})",
    )
    found: dict[str, list[NodeEvent]] = {}
    for row in engine.gather(tables, gathering, *range_us).to_pylist():
        event = NodeEvent(row["host"], row["time_us"], row["kind"], row["id"])
        found.setdefault(event.host, []).append(event)
    return {host: tuple(events) for host, events in found.items()}


def gather_segments(
    tables: FleetTables, engine: Engine, windows: Iterable[tuple[str, Span]], longest_us: int
) -> dict[str, list[Span]]:
    """The segments of hosts that may lie in windows of theirs: of all others there are far too many."""
    bucket_us = max(longest_us, SHORTEST_BUCKET_US)
    wanted: set[tuple[str, int]] = set()
    for host, (begin_us, end_us) in windows:
        first, last = (begin_us - longest_us) // bucket_us, end_us // bucket_us
        wanted.update((host, bucket) for bucket in range(first, last + 1))
    if not wanted:
        return {}
    gathering = Gathering(
        "segments",
        ("host", "begin_us"),
        (("end_us", "max", "max(end_us)"),),
        where=_in_buckets(wanted, bucket_us),
    )
    begin_us = min(bucket for _, bucket in wanted) * bucket_us
    end_us = (max(bucket for _, bucket in wanted) + 1) * bucket_us
    if not tables.paths("segments", begin_us, end_us):
        return {}
    rows = engine.gather(tables, gathering, begin_us, end_us)
    found: dict[str, list[Span]] = {}
    for host, *span in zip(*(rows.column(name).to_pylist() for name in SPAN), strict=True):
        found.setdefault(host, []).append((span[0], span[1]))
    return found


def _in_buckets(wanted: set[tuple[str, int]], bucket_us: int) -> str:
    """The rows of hosts in buckets of time. Two long texts are split: a list of SQL takes longer to be read
    than all rows.
    """
    pairs = sorted(wanted)
    hosts = "\n".join(host.replace("'", "''") for host, _ in pairs)
    buckets = ",".join(str(bucket) for _, bucket in pairs)
    return (
        f"recorded_us > 0 AND (host, begin_us // {bucket_us}) IN (SELECT"
        f" unnest(string_split('{hosts}', chr(10))), unnest(string_split('{buckets}', ',')::BIGINT[]))"
    )


def gather_identities(
    tables: FleetTables, engine: Engine, begin_us: int, end_us: int
) -> list[tuple[str, str]]:
    """What tells hosts from each other, beside their names: (address or id of the instance, host)."""
    if not all(tables.paths(table, begin_us, end_us) for table in ("facts", "fact_sets", "sections")):
        return []
    count = (("rows", "sum", "count(*)"),)
    hosts = engine.gather(
        tables, Gathering("facts", ("host", "facts"), count, time="time_us"), begin_us, end_us
    ).to_pylist()
    # Tables without a time are of all times.
    sets = Gathering("fact_sets", ("facts", "section_id"), count, "0", "section = 'identity'")
    section_of = {row["facts"]: row["section_id"] for row in engine.gather(tables, sets, 0, 1).to_pylist()}
    ids = sorted(set(section_of.values()))
    if not ids:
        return []
    where = f"section_id IN ({_list(ids)}) AND name IN ({_list(ADDRESSES)})"
    values: dict[str, list[str]] = {}
    for row in engine.gather(
        tables, Gathering("sections", ("section_id", "name", "value"), count, "0", where), 0, 1
    ).to_pylist():
        values.setdefault(row["section_id"], []).append(row["value"])
    return sorted(
        {
            (value, row["host"])
            for row in hosts
            for value in values.get(section_of.get(row["facts"], ""), ())
            if value
        }
    )


def _list(words: Iterable[str]) -> str:
    """Words as a list of SQL."""
    return ", ".join("'" + word.replace("'", "''") + "'" for word in sorted(set(words))) or "''"
