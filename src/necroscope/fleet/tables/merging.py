"""New rows into what a table has of an hour. A row whose key is there already is the same: it stays once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from necroscope.fleet.tables.columns import KEYS
from necroscope.fleet.tables.parquet import in_order, joined, one_array


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
