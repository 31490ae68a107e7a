"""The counters of a sealed segment: a Parquet file for every table of every source.

Rows stand in the order of their place in the reading, then of time: the counters of one core follow each
other, and their differences take hardly any room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from necroscope import _native
from necroscope.model.reading import Absence, Reading
from necroscope.sources.source import Source
from necroscope.store.frames import payloads
from necroscope.store.gc_paused import no_garbage
from necroscope.store.journal import LAYOUT, OTHER_VERSION, Journal, layout_payload, read_journal
from necroscope.store.segment import Moment
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.tables import Row, shape_of

READINGS = "readings.parquet"
ADDED_LATER = frozenset(("instance.others",))  # tables that older versions did not write
READING_COLUMNS = (
    ("time", "int"),
    ("source", "text"),
    ("absence", "text"),
    ("detail", "text"),
    ("cost_ns", "int"),
)


def read_tables(data: bytes) -> tuple[Journal, _native.CounterTables]:
    """Read a journal to be sealed: its readings become rows of tables, and are empty in its moments.

    ValueError: it is not a journal of ours.
    """
    first = next(payloads(data), b"")
    # Rows that differ from the journal's own layout are a mistake of a source, not of another version.
    layout, detail = (first, None) if first.startswith(LAYOUT) else (layout_payload(), OTHER_VERSION)
    tables = _native.CounterTables(layout, Absence.BROKEN.name, detail)

    def parse(payload: bytes) -> Moment:
        time_ns, found, cost_ns = tables.add(payload)
        readings: dict[str, Reading[Any]] = {
            source: Reading(absence=Absence[absent[0]], detail=absent[1]) if absent else Reading(())
            for source, absent in found
        }
        return Moment(time_ns, readings, dict(cost_ns))

    return read_journal(data, parse), tables


def write_counters(folder: Path, moments: Sequence[Moment], tables: _native.CounterTables) -> None:
    """Write all readings of a segment, as `read_tables` gave them."""
    rows = [
        (moment.time_ns, name, reading.absence and reading.absence.name, reading.detail, moment.cost_ns[name])
        for moment in moments
        for name, reading in moment.readings.items()
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in READING_COLUMNS]
    named = [(name, kind, values) for (name, kind), values in zip(READING_COLUMNS, columns, strict=True)]
    _native.write_table(folder / READINGS, named)
    tables.write(folder)


@no_garbage()
def read_counters(folder: Path, sources: Sequence[Source[Any]]) -> list[Moment]:
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
    tables = [_grouped(folder, name, columns) for name, columns in shape.layout]
    return {time_ns: shape.value([table.get(time_ns, []) for table in tables]) for time_ns in tables[0]}


def _grouped(folder: Path, name: str, names: Sequence[tuple[str, str]]) -> dict[int, list[Row]]:
    path = folder / f"{name}.parquet"
    if name in ADDED_LATER and not path.exists():
        return {}
    columns = _native.read_table(path)
    times = columns["time"]
    # A column that an older version did not write is unknown, not an error.
    rows = zip(*(columns.get(column) or [None] * len(times) for column, _ in names), strict=True)
    grouped: dict[int, list[Row]] = defaultdict(list)
    for time_ns, row in zip(times, rows, strict=True):
        grouped[time_ns].append(row)
    return grouped
