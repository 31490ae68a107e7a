"""The facts of many hosts side by side, from the tables: a section that many hosts share is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from necroscope.fleet.ship.facts import NOT_READ, PARTLY
from necroscope.fleet.tables.duck import connected
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.parquet import batches
from necroscope.inventory.drift.fact_table import FactTable, Hosts


@dataclass(frozen=True, slots=True)
class FactOfGroup:
    """What makes a host one of a group: a fact and its value."""

    section: str
    name: str
    value: str


@dataclass(slots=True)
class FleetFacts:
    """The facts of all hosts that are compared."""

    table: FactTable
    unknown: int  # hosts whose facts are not in the tables
    having: frozenset[str] = frozenset()  # hosts with the fact of the group, which is then no fact any more
    _places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {host: place for place, host in enumerate(self.table.hosts)}

    def set_of(self, hosts: Sequence[str]) -> Hosts:
        """Hosts as one number."""
        return sum(1 << self._places[host] for host in hosts)


def read_fleet_facts(
    tables: FleetTables, facts_of: Mapping[str, str], of_group: FactOfGroup | None = None
) -> FleetFacts:
    """The facts of hosts, given which facts each has by id; those without any are left out, and counted."""
    sections_of = _sections_of(tables, set(facts_of.values()))
    hosts = [host for host, facts in facts_of.items() if facts in sections_of]
    table = FactTable()
    table.add_hosts(hosts)
    sharing: dict[str, tuple[str, list[int]]] = {}  # by the id of a section: its name, and who has it
    for place, host in enumerate(hosts):
        for section, section_id in sections_of[facts_of[host]]:
            sharing.setdefault(section_id, (section, []))[1].append(place)
    partly = _add_not_read(tables, table, sharing)
    having: set[str] = set()
    for section_id, facts in _sections(tables.paths("sections"), sharing.keys()):
        section, places = sharing[section_id]
        if of_group and section == of_group.section and facts.pop(of_group.name, None) == of_group.value:
            having.update(hosts[place] for place in places)
        in_part = partly.get(section, set())
        for is_partial in (False, True):
            if some := [place for place in places if (place in in_part) == is_partial]:
                table.add_section(section, facts, some, is_partial=is_partial)
    return FleetFacts(table, len(facts_of) - len(hosts), frozenset(having))


def _add_not_read(
    tables: FleetTables, table: FactTable, sharing: dict[str, tuple[str, list[int]]]
) -> dict[str, set[int]]:
    """Tell the table what hosts could not read, and say of which sections they have only a part."""
    ids = [section_id for section_id, (section, _) in sharing.items() if section == NOT_READ]
    partly: dict[str, set[int]] = {}
    if not ids:
        return partly
    with connected() as connection:
        wanted = pa.table({"section_id": pa.array(ids)})  # noqa: F841 - the query's table
        rows = connection.execute(
            "SELECT section_id, name, value FROM read_parquet($1) SEMI JOIN wanted USING (section_id) "
            "ORDER BY ALL",
            [[str(path) for path in tables.paths("sections")]],
        ).fetchall()
    for section_id, section, how in rows:
        for place in sharing[section_id][1]:
            table.add_not_read(section, how, place, is_absent=how != PARTLY)
            if how == PARTLY:
                partly.setdefault(section, set()).add(place)
    for section_id in ids:
        del sharing[section_id]
    return partly


def _sections_of(tables: FleetTables, wanted: set[str]) -> dict[str, list[tuple[str, str]]]:
    """The sections, by name and id, of every one of these facts that the tables have."""
    paths = [str(path) for path in tables.paths("fact_sets")]
    if not paths or not wanted:
        return {}
    ids = pa.table({"facts": pa.array(sorted(wanted))})  # noqa: F841 - the query's table
    with connected() as connection:
        rows = connection.execute(
            "SELECT DISTINCT facts, section, section_id FROM read_parquet($1) SEMI JOIN ids USING (facts) "
            "ORDER BY ALL",
            [paths],
        ).fetchall()
    found: dict[str, list[tuple[str, str]]] = {}
    for facts, section, section_id in rows:
        found.setdefault(facts, []).append((section, section_id))
    return found


def _sections(paths: Sequence[Path], wanted: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """The facts of some sections by id, each once. A file has them one after the other."""
    left = set(wanted)
    for path in paths:
        section_id, facts = "", dict[str, str]()
        for next_id, names, values in _runs(path):
            if next_id != section_id:
                if section_id in left:
                    left.discard(section_id)
                    yield section_id, facts
                section_id, facts = next_id, {}
            if section_id in left:
                facts.update(zip(names.to_pylist(), values.to_pylist(), strict=True))
        if section_id in left:
            left.discard(section_id)
            yield section_id, facts


def _runs(path: Path) -> Iterator[tuple[str, pa.Array, pa.Array]]:
    """The rows of a file, a section or a part of one at a time."""
    for batch in batches(path, ("section_id", "name", "value"), dictionaries=("section_id",)):
        ids, names, values = batch.column("section_id"), batch.column("name"), batch.column("value")
        starts = np.flatnonzero(np.diff(ids.indices.to_numpy(), prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
            section = slice(int(start), int(end))
            yield ids[int(start)].as_py(), names[section], values[section]
