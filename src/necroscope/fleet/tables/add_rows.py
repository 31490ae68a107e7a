"""New rows into the files of a place: what an hour has and what is new, as a new file beside the old one.

Nothing that is there is changed. Only the index that is written afterwards makes the new files count.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from necroscope.errors import StoreError
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.columns import KEYS, TABLES, TIMES
from necroscope.fleet.tables.index import ALWAYS, Index, TableFile, table_file
from necroscope.fleet.tables.parquet import decoded, encoded, in_order, joined, one_array
from necroscope.fleet.tables.read_tables import bringing
from necroscope.model.timestamp import HOUR_US, hour_of

HOURS_AT_ONCE = 4  # each takes the memory of an hour of the fleet
UNFIT = (pa.ArrowException, OverflowError)
MOST_FILES = 16  # of a table without hours, before they become one


@dataclass(frozen=True, slots=True)
class Change:
    """Files that take the place of others, and how many rows are new by that."""

    table: str
    before: tuple[TableFile, ...]
    after: TableFile | None  # None: nothing changes
    added: int


@dataclass(frozen=True, slots=True)
class Known:
    """What the tables without hours have."""

    facts: frozenset[str]
    sections: frozenset[str]


def arrow_tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, pa.Table]:
    """Convert rows. Raises one of UNFIT if a value does not fit its column."""
    return {table: pa.Table.from_pylist(some, schema=TABLES[table]) for table, some in rows.items()}


class Adding:
    """Adds rows to the tables of a place, a few hours at a time."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._bring: Callable[[Sequence[TableFile]], Sequence[Path]] = bringing(place)
        self._known: dict[tuple[str, str], frozenset[str]] = {}  # of files, which never change

    def add(self, index: Index, rows: Mapping[str, pa.Table]) -> list[Change]:
        """Write what becomes of the hours that the rows belong to."""
        # Where there is a set of facts its sections are known: so they are there first, whatever happens.
        work = list(self._work(index, rows))
        changes = [self._add(*one) for one in work if one[0] == "sections"]
        with ThreadPoolExecutor(HOURS_AT_ONCE) as threads:
            return changes + list(
                threads.map(lambda one: self._add(*one), [one for one in work if one[0] != "sections"])
            )

    def _work(
        self, index: Index, rows: Mapping[str, pa.Table]
    ) -> Iterator[tuple[str, str, tuple[TableFile, ...], pa.Table]]:
        for table, new in rows.items():
            for hour, part in rows_by_hour(table, new):
                yield table, hour, self._to_merge(index, table, hour), part

    def join(self, table: str, hour: str, before: Sequence[TableFile]) -> Change:
        """Several files of an hour as one."""
        return self._add(table, hour, tuple(before), TABLES[table].empty_table())

    def rows(self, file: TableFile, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a file, or some columns of them. StoreError: it is damaged."""
        (path,) = self._bring([file])
        hint = "restore it, or take its entry out of index.json: its hour is lost then"
        try:
            content = path.read_bytes()
            if hashlib.sha256(content).hexdigest() != file.sha256:
                raise StoreError(f"{file.name} is damaged: its content is not what its name says", hint=hint)
            return decoded(file.table, content, columns)
        except OSError as error:
            raise StoreError(f"{file.name}: {error.strerror}", hint=hint) from error
        except pa.ArrowException as error:
            raise StoreError(f"{file.name} is damaged: {error}", hint=hint) from error

    def known(self, index: Index) -> Known:
        """The ids of all sets of facts and of all sections; one without any fact is in a set alone."""
        sets = [file for file in index.files if file.table == "fact_sets"]
        sections = [file for file in index.files if file.table == "sections"]
        named = [self._ids(file, "section_id") for file in (*sets, *sections)]
        facts = [self._ids(file, "facts") for file in sets]
        return Known(frozenset().union(*facts), frozenset().union(*named))

    def _ids(self, file: TableFile, column: str) -> frozenset[str]:
        key = (file.name, column)
        if key not in self._known:
            self._known[key] = frozenset(self.rows(file, [column]).column(column).unique().to_pylist())
        return self._known[key]

    def _to_merge(self, index: Index, table: str, hour: str) -> tuple[TableFile, ...]:
        """What the new rows are written together with: of tables without hours nothing, until it is much."""
        there = tuple(file for file in index.files if (file.table, file.hour) == (table, hour))
        return there if hour != ALWAYS or len(there) >= MOST_FILES else ()

    def _add(self, table: str, hour: str, before: tuple[TableFile, ...], new: pa.Table) -> Change:
        rows = merged(table, [*(self.rows(file) for file in before), new])
        added = rows.num_rows - sum(file.rows for file in before)
        if not rows.num_rows or (not added and len(before) == 1):
            return Change(table, before, None, 0)
        # No two files are ever the same: one that is removed as outdated cannot have become current again.
        content = encoded(table, rows, stamp=secrets.token_hex(8))
        file = table_file(table, hour, content, rows.num_rows)
        self._place.write(file.name, content)
        return Change(table, before, file, added)


def rows_by_hour(table: str, rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of every hour; those of tables without a time are of ALWAYS."""
    if not rows.num_rows:
        return
    if table not in TIMES:
        yield ALWAYS, rows
        return
    hours = rows.column(TIMES[table]).to_numpy() // HOUR_US
    if not (hours[1:] >= hours[:-1]).all():
        order = np.argsort(hours, kind="stable")
        rows, hours = rows.take(order), hours[order]
    starts = np.flatnonzero(np.diff(hours, prepend=hours[0] - 1))
    for start, end in zip(starts, [*starts[1:], len(hours)], strict=True):
        yield hour_of(int(hours[start]) * HOUR_US), rows.slice(start, end - start)


def merged(table: str, pieces: Sequence[pa.Table]) -> pa.Table:
    """All rows of several pieces in the table's order, each once; of the same ones, the first."""
    return in_order(table, _once(table, joined(table, list(pieces))))


def _once(table: str, rows: pa.Table) -> pa.Table:
    """The first of the rows with the same key, by the numbers of their names, which is much faster."""
    keys = {name: _number(rows.column(name)) for name in KEYS[table]}
    numbered = pa.table({**keys, "row": pa.array(np.arange(rows.num_rows))})
    first = numbered.group_by(list(keys), use_threads=False).aggregate([("row", "min")])
    if first.num_rows == rows.num_rows:
        return rows
    places = first.column("row_min").combine_chunks()
    return rows.take(places.take(pc.sort_indices(places)))


def _number(column: pa.ChunkedArray) -> pa.Array:
    array = one_array(column)
    if pa.types.is_integer(array.type):
        return array
    return (array if pa.types.is_dictionary(array.type) else array.dictionary_encode()).indices
