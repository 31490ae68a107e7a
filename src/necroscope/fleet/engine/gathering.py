"""One pass over a table whose partial answers can be put together in any order, with the same result.

That is why only whole numbers are summed: sums of fractions would depend on the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from necroscope.fleet.tables.columns import TABLES
from necroscope.fleet.tables.duck import connected

MERGES = frozenset({"sum", "min", "max", "any_value"})


@dataclass(frozen=True, slots=True)
class Gathering:
    """What is gathered from a table: expressions over its rows, by group.

    `columns` are (name, how parts are put together, expression): ("seconds", "sum", "sum(recorded_us)").
    `keys=("host",)` gives a row a host.
    """

    table: str
    keys: tuple[str, ...]
    columns: tuple[tuple[str, str, str], ...]
    time: str = "begin_us"  # which column must lie in the range
    where: str = "true"

    def __post_init__(self) -> None:
        assert all(how in MERGES for _, how, _ in self.columns)


def gather_files(gathering: Gathering, paths: Sequence[Path], begin_us: int, end_us: int) -> pa.Table:
    """The part of an answer that is in some files. Of none, it has no rows but all columns."""
    names = ", ".join(f'"{key}"' for key in gathering.keys)
    columns = ", ".join(_column(name, how, expression) for name, how, expression in gathering.columns)
    with connected() as connection:
        rows = (  # noqa: F841 - the query's table
            connection.read_parquet([str(path) for path in paths])
            if paths
            else connection.from_arrow(TABLES[gathering.table].empty_table())
        )
        return connection.sql(
            f"SELECT {names}, {columns} FROM rows WHERE {gathering.time} >= {begin_us} "
            f"AND {gathering.time} < {end_us} AND ({gathering.where}) GROUP BY {names} ORDER BY {names}"
        ).to_arrow_table()


def merge_parts(gathering: Gathering, parts: Sequence[pa.Table]) -> pa.Table:
    """Several parts as one."""
    names = ", ".join(f'"{key}"' for key in gathering.keys)
    columns = ", ".join(_column(name, how, f'{how}("{name}")') for name, how, _ in gathering.columns)
    with connected() as connection:
        rows = pa.concat_tables(parts)  # noqa: F841 - the query's table
        return connection.sql(
            f"SELECT {names}, {columns} FROM rows GROUP BY {names} ORDER BY {names}"
        ).to_arrow_table()


def _column(name: str, how: str, expression: str) -> str:
    """A column of an answer; DuckDB's own sums are of 128 bits, which not every reader knows."""
    return f'CAST({expression} AS BIGINT) AS "{name}"' if how == "sum" else f'{expression} AS "{name}"'
