"""Write a whole fleet's tables at once into a folder: for generated fleets.

What hosts ship comes into tables by `ingest` instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa

from necroscope.errors import StoreError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.tables.add_rows import rows_by_hour
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.index import INDEX, Index, TableFile, index_bytes, table_file
from necroscope.fleet.tables.parquet import conformed, decoded, encoded, in_order, joined
from necroscope.model.timestamp import HOUR_US

HELD_ROWS = 8_000_000  # some 1.3 GB of `segments`


def write_fleet_tables(folder: Path, tables: Mapping[str, Iterable[pa.Table]]) -> Index:
    """Write the rows of all tables below a folder, and the index that names them.

    Rows may come in any order, and are trusted to be there once. It is fastest, and takes the least memory,
    where the tables follow each other in time: an hour that comes again later is read and written again.
    """
    folder.mkdir(parents=True, exist_ok=True)  # a place itself is never made by those who write to it
    place = FolderPlace(folder)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        files = [
            file
            for name, rows in tables.items()
            for file in _write_table(place, name, rows, threads).values()
        ]
    made_us = max((file.begin_us + HOUR_US for file in files), default=0)
    index = Index(made_us, tuple(sorted(files, key=lambda file: file.name)))
    place.write(INDEX, index_bytes(index))
    return index


def tables_in_folder(folder: Path, index: Index) -> FleetTables:
    """The tables of a place that is a folder."""
    return FleetTables(index, lambda files: [folder / file.name for file in files], str(folder.absolute()))


def _write_table(
    place: FolderPlace, table: str, pieces: Iterable[pa.Table], threads: ThreadPoolExecutor
) -> dict[str, TableFile]:
    """The files of one table by hour."""
    files: dict[str, TableFile] = {}
    held: dict[str, list[pa.Table]] = {}
    rows = 0
    for piece in pieces:
        for hour, some in rows_by_hour(table, conformed(table, piece)):
            held.setdefault(hour, []).append(some)
        rows += piece.num_rows
        if rows >= HELD_ROWS:
            _write_held(place, table, held, files, threads)
            rows = 0
    _write_held(place, table, held, files, threads)
    return files


def _write_held(
    place: FolderPlace,
    table: str,
    held: dict[str, list[pa.Table]],
    files: dict[str, TableFile],
    threads: ThreadPoolExecutor,
) -> None:
    """Write what is held, with what was written of the same hours before."""
    work = partial(_write_hour, place, table)
    before = [files.get(hour) for hour in held]
    for file in threads.map(work, held, held.values(), before):
        files[file.hour] = file
    held.clear()


def _write_hour(
    place: FolderPlace, table: str, hour: str, pieces: list[pa.Table], before: TableFile | None
) -> TableFile:
    if before is not None:
        content = place.read(before.name)
        if content is None:
            raise StoreError(f"{place.address}: {before.name} is not there", hint="somebody else removed it")
        pieces = [decoded(table, content), *pieces]
        place.remove(before.name)
    rows = in_order(table, joined(table, pieces))
    content = encoded(table, rows)
    file = table_file(table, hour, content, rows.num_rows)
    place.write(file.name, content)
    return file
