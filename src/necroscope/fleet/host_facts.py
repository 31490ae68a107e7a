"""The facts of hosts as columns: for every id of facts, which value it has of a fact.

Labels that are not there are not known. A unit that is not there, on a host whose units were read, does not
exist, which is a value of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.timestamp import LATEST_US

Codes = NDArray[np.int32]

NOT_THERE = "(not there)"
UNKNOWN = -1
UNKNOWN_WORDS = frozenset({"", "unknown", "none", "null", "n/a"})
# What a host is tested by: all labels, of NICs what drives them, of units whether they are there and run.
WANTED = {
    "labels": "true",
    "nics": r"regexp_matches(name, '/(driver|driver-version|firmware)$')",
    "units": r"regexp_matches(name, '/(enabled|runs)$')",
}
# Of these sections a fact that is not there means that what it tells of does not exist.
WHOLE_SECTIONS = frozenset({"units", "packages", "modules", "sysctls", "bootstrap"})
SECTION_ID = re.compile(r"[\w.:-]+")


@dataclass(frozen=True, slots=True, eq=False)
class FactColumn:
    """One fact over all ids of facts."""

    fact: str  # section/name
    values: tuple[str, ...]
    codes: Codes  # by id of facts: places in `values`, or UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class HostFacts:
    """Which facts stand behind the ids."""

    ids: tuple[str, ...]  # sorted
    columns: tuple[FactColumn, ...]  # sorted by fact; those with one value are there, too

    def places(self, ids: NDArray[np.object_]) -> NDArray[np.int64]:
        """Where ids are in `ids`; UNKNOWN for those that are not."""
        known = np.array(self.ids, dtype=object)
        if not len(known) or not len(ids):
            return np.full(len(ids), UNKNOWN, dtype=np.int64)
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[place] == ids, place, UNKNOWN)

    def column(self, fact: str) -> FactColumn | None:
        """The column of a fact; a name alone is that of a label."""
        wanted = (fact, f"labels/{fact}")
        return next((column for column in self.columns if column.fact in wanted), None)


def gather_facts(tables: FleetTables, engine: Engine, facts: Sequence[str] = ()) -> HostFacts:
    """The columns of all that hosts are tested by, or of some facts (section/name; or a label's name)."""
    wanted = _wanted(facts)
    keys = ("facts", "section", "section_id")
    sets = _gather(tables, engine, "fact_sets", keys, f"section IN ({_quoted(wanted)})")
    ids, fact_codes = _coded(sets.column("facts"))
    columns: list[FactColumn] = []
    for section, names in wanted.items():
        is_its = pc.equal(sets.column("section"), section).to_numpy(zero_copy_only=False)
        section_ids, section_codes = _coded(sets.column("section_id").filter(pa.array(is_its)))
        section_of_id = np.full(len(ids), UNKNOWN, dtype=np.int64)
        section_of_id[fact_codes[is_its]] = section_codes
        safe = [one for one in section_ids if SECTION_ID.fullmatch(one)]
        if safe:
            where = f"section_id IN ({_quoted(safe)}) AND {names}"
            rows = _gather(tables, engine, "sections", ("section_id", "name", "value"), where)
            columns += _section_columns(section, section_ids, section_of_id, rows)
    return HostFacts(ids, tuple(sorted(columns, key=lambda column: column.fact)))


def _wanted(facts: Sequence[str]) -> dict[str, str]:
    """Sections, and which of their names are wanted, in SQL."""
    if not facts:
        return WANTED
    names: dict[str, list[str]] = {}
    for fact in facts:
        section, slash, name = fact.partition("/")
        names.setdefault("labels", []).append(fact)  # a label's name may have a slash
        if slash:
            names.setdefault(section, []).append(name)
    return {section: f"name IN ({_quoted(some)})" for section, some in names.items()}


def _quoted(texts: Iterator[str] | Sequence[str] | dict[str, str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _gather(tables: FleetTables, engine: Engine, table: str, keys: tuple[str, ...], where: str) -> pa.Table:
    """All different rows of a table that is of no hour, as plain strings."""
    gathering = Gathering(table, keys, (("rows", "sum", "count(*)"),), time="0", where=where)
    rows = engine.gather(tables, gathering, 0, LATEST_US)
    return pa.table({key: rows.column(key).cast(pa.string()) for key in keys})


def _coded(column: pa.ChunkedArray) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """All different texts of a column, sorted, and for each row which it is."""
    texts = tuple(sorted(pc.unique(column).to_pylist()))
    return texts, pc.index_in(column, pa.array(texts, pa.string())).to_numpy().astype(np.int64)


def _section_columns(
    section: str, section_ids: tuple[str, ...], section_of_id: NDArray[np.int64], rows: pa.Table
) -> Iterator[FactColumn]:
    """The columns of all facts of a section."""
    its_section = pc.index_in(rows.column("section_id"), pa.array(section_ids, pa.string())).to_numpy()
    names, name_codes = _coded(rows.column("name"))
    texts, text_codes = _coded(rows.column("value"))
    order = np.argsort(name_codes, kind="stable")
    limits = np.searchsorted(name_codes[order], np.arange(len(names) + 1))
    for number, name in enumerate(names):
        its = order[limits[number] : limits[number + 1]]
        used, place = np.unique(text_codes[its], return_inverse=True)
        values = tuple(texts[code] for code in used)
        is_known = np.array([value.strip().lower() not in UNKNOWN_WORDS for value in values])
        absent = len(values) if section in WHOLE_SECTIONS else UNKNOWN
        # The last one is that of hosts whose section was not read.
        by_section = np.full(len(section_ids) + 1, absent, dtype=np.int32)
        by_section[-1] = UNKNOWN
        by_section[its_section[its]] = np.where(is_known[place], place, UNKNOWN)
        more = (NOT_THERE,) if absent != UNKNOWN else ()
        yield FactColumn(f"{section}/{name}", (*values, *more), by_section[section_of_id])
