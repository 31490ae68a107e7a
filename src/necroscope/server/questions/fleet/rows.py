"""SQL over the files of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from necroscope.fleet.tables.columns import TABLES
from necroscope.fleet.tables.opened import FleetTables

MEMORY = "2GB"  # beyond that DuckDB spills


@contextmanager
def opened() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory, for one question."""
    with duckdb.connect(config={"memory_limit": MEMORY}) as connection:
        yield connection


def see_table(connection: duckdb.DuckDBPyConnection, table: str, paths: Sequence[Path]) -> None:
    """Have the files of a table be a table of that name; without files it is empty."""
    if paths:
        connection.read_parquet([str(path) for path in paths], filename=True).create_view(table)
    else:
        schema = TABLES[table].append(pa.field("filename", pa.string()))
        connection.register(table, schema.empty_table())


def see(connection: duckdb.DuckDBPyConnection, tables: FleetTables, names: Sequence[str], *span: int) -> None:
    """Have the tables of a fleet be there by their names, in a range or whole."""
    for name in names:
        see_table(connection, name, tables.paths(name, *span))


def all_rows(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """What a query finds."""
    return connection.execute(query, parameters).fetchall()
