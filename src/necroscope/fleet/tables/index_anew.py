"""The index, made from the tables that are there: where it is damaged or was taken away.

Of an hour there may be several files, outdated ones among them. All their rows together, each once, are the
hour: rows are only ever added.
"""

from __future__ import annotations

import hashlib
from itertools import groupby

import pyarrow as pa

from necroscope.fleet.place.place import BadObjectError, Place
from necroscope.fleet.tables.adding import Adding
from necroscope.fleet.tables.columns import TABLES
from necroscope.fleet.tables.index import FILE, Index, TableFile
from necroscope.fleet.tables.parquet import decoded
from necroscope.fleet.tables.parts import RejectedError


def index_of_tables(place: Place, adding: Adding, now_us: int) -> Index:
    """Everything below tables/, an hour in one file; what cannot be read is told as rejected."""
    found, rejected = [], {}
    for stored in place.below("tables/"):
        try:
            found.append(_table_file(stored.name, place.read(stored.name)))
        except (RejectedError, BadObjectError) as error:
            rejected[stored.name] = str(error)
    files: list[TableFile] = []
    replaced: dict[str, int] = {}
    for (table, hour), group in groupby(sorted(found, key=_place_of), _place_of):
        before = list(group)
        after = adding.join(table, hour, before).after if len(before) > 1 else before[0]
        files += [after] if after else []
        replaced |= {file.name: now_us for file in before if file != after}
    return Index(now_us, tuple(sorted(files, key=lambda file: file.name)), rejected, replaced)


def _place_of(file: TableFile) -> tuple[str, str]:
    return file.table, file.hour


def _table_file(name: str, content: bytes | None) -> TableFile:
    """Return the entry of a file. RejectedError if it is not one of ours."""
    match = FILE.fullmatch(name)
    if not match or match["table"] not in TABLES or content is None:
        raise RejectedError("it is not a file of a table")
    digest = hashlib.sha256(content).hexdigest()
    if digest[:16] not in name:
        raise RejectedError("its content is not what its name says: it is damaged")
    try:
        rows = decoded(match["table"], content).num_rows
    except pa.ArrowException as error:
        raise RejectedError(f"it is damaged: {error}") from error
    return TableFile(match["table"], match["hour"], name, rows, len(content), digest)
