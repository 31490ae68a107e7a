"""The counters of a sealed segment: a Parquet file for every table of every source.

Rows stand in the order of their place in the reading, then of time: the counters of one core follow each
other, and their differences take hardly any room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from necroscope import _native
from necroscope.model.reading import Absence, Reading
from necroscope.sources.catalog import SOURCES
from necroscope.sources.source import Source
from necroscope.store.gc_paused import no_garbage
from necroscope.store.journal import MomentRows
from necroscope.store.segment import Moment
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.tables import Row, Shape, Table, Tables, shape_of

READINGS = "readings.parquet"
ADDED_LATER = frozenset(("instance.others",))  # tables that older versions did not write
READING_COLUMNS = (
    ("time", "int"),
    ("source", "text"),
    ("absence", "text"),
    ("detail", "text"),
    ("cost_ns", "int"),
)


def write_counters(folder: Path, moments: Sequence[MomentRows]) -> None:
    """Write all readings of a segment: the rows of its journal as columns."""
    rows = [
        (moment.time_ns, name, reading.absence and reading.absence.name, reading.detail, moment.cost_ns[name])
        for moment in moments
        for name, reading in moment.readings.items()
    ]
    _native.write_table(folder / READINGS, _transposed(READING_COLUMNS, rows))
    for source in SOURCES:
        recorded = [
            (moment.time_ns, reading.value)
            for moment in moments
            if (reading := moment.readings.get(source.id)) and reading.value is not None
        ]
        if recorded:
            _write_source(folder, shape_of(source), recorded)


def _write_source(folder: Path, shape: Shape, recorded: Sequence[tuple[int, Tables]]) -> None:
    times = [time_ns for time_ns, _ in recorded]
    for number, table in enumerate(shape.tables):
        # By place in the reading: the rows of one core, of one device, in the order of time.
        places = zip_longest(*(tables[number] for _, tables in recorded))
        placed = [
            (time_ns, row)
            for rows in places
            for time_ns, row in zip(times, rows, strict=True)
            if row is not None
        ]
        columns = [("time", "int", [time_ns for time_ns, _ in placed])]
        columns += _transposed(_columns(shape, table)[1:], [row for _, row in placed])
        _native.write_table(folder / f"{table.name}.parquet", columns)


def _columns(shape: Shape, table: Table) -> Sequence[tuple[str, str]]:
    of = () if table is shape.tables[0] else (("of", "int"),)
    return (("time", "int"), *of, *table.columns)


def _transposed(columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> list[tuple[str, str, list[Any]]]:
    values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
    return [(name, kind, column) for (name, kind), column in zip(columns, values, strict=True)]


@no_garbage()
def read_counters(folder: Path, sources: Sequence[Source[Any]] = SOURCES) -> list[Moment]:
    """The moments of a segment, with the readings of some sources; moments without any are left out."""
    wanted = {source.id: source for source in sources}
    try:
        table = _native.read_table(folder / READINGS)
        given = {name for name, absence in zip(table["source"], table["absence"], strict=True) if not absence}
        values = {name: _read_source(folder, wanted[name]) for name in wanted if name in given}
    except OSError as error:
        raise unreadable_file(folder, error) from error
    readings: dict[int, dict[str, Reading[Any]]] = defaultdict(dict)
    costs: dict[int, dict[str, int]] = defaultdict(dict)
    columns = (table[name] for name, _ in READING_COLUMNS)
    for time_ns, name, absence, detail, cost_ns in zip(*columns, strict=True):
        if name in wanted:
            costs[time_ns][name] = cost_ns
            if absence is not None:
                readings[time_ns][name] = Reading(absence=Absence[absence], detail=detail)
            elif time_ns in values[name]:
                readings[time_ns][name] = Reading(values[name][time_ns], detail=detail)
            else:  # a reading without a single row
                readings[time_ns][name] = Reading((), detail=detail)
    return [Moment(time_ns, found, costs[time_ns]) for time_ns, found in sorted(readings.items())]


def _read_source(folder: Path, source: Source[Any]) -> dict[int, Any]:
    """The values of a source by time."""
    shape = shape_of(source)
    tables = [_grouped(folder, shape, table) for table in shape.tables]
    return {time_ns: shape.value([table.get(time_ns, []) for table in tables]) for time_ns in tables[0]}


def _grouped(folder: Path, shape: Shape, table: Table) -> dict[int, list[Row]]:
    path = folder / f"{table.name}.parquet"
    if table.name in ADDED_LATER and not path.exists():
        return {}
    columns = _native.read_table(path)
    times = columns["time"]
    grouped: dict[int, list[Row]] = defaultdict(list)
    for time_ns, row in zip(times, _rows(columns, _columns(shape, table)[1:], len(times)), strict=True):
        grouped[time_ns].append(row)
    return grouped


def _rows(columns: dict[str, list[Any]], names: Sequence[tuple[str, str]], count: int) -> Iterator[Row]:
    # A column that an older version did not write is unknown, not an error.
    return zip(*(columns.get(name) or [None] * count for name, _ in names), strict=True)
