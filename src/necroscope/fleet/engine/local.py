"""One process: DuckDB over the files, on all cores, spilling to disk where memory does not suffice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa

from necroscope.fleet.engine.gathering import Gathering, gather_files
from necroscope.fleet.tables.opened import FleetTables

T = TypeVar("T")
U = TypeVar("U")


class LocalEngine:
    """All work here, one after the other; DuckDB uses the cores."""

    workers = 1

    def gather(self, tables: FleetTables, gathering: Gathering, begin_us: int, end_us: int) -> pa.Table:
        """All that a gathering finds in a range of time, in the order of its keys."""
        return gather_files(gathering, tables.paths(gathering.table, begin_us, end_us), begin_us, end_us)

    def map(self, work: Callable[[T], U], items: Sequence[T]) -> Iterable[U]:
        """The work done for every item, in the order of the items."""
        return map(work, items)

    def reduce(self, work: Callable[[T], U], merge: Callable[[Sequence[U]], U], items: Sequence[T]) -> U:
        """The work done for every item, put together in the order of the items."""
        return merge([work(item) for item in items])
