"""What a question asks of whoever does the counting; and the engine that is this process alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import pyarrow as pa

from necroscope.fleet.engine.gathering import Gathering, gather_files
from necroscope.fleet.tables.fleet_tables import FleetTables

T = TypeVar("T")
U = TypeVar("U")


class Engine(Protocol):
    """One process, or many."""

    workers: int  # that work at once

    def gather(self, tables: FleetTables, gathering: Gathering, begin_us: int, end_us: int) -> pa.Table:
        """All that a gathering finds in a range of time, in the order of its keys."""

    def map(self, work: Callable[[T], U], items: Sequence[T]) -> Iterable[U]:
        """The work done for every item, in the order of the items."""

    def reduce(self, work: Callable[[T], U], merge: Callable[[Sequence[U]], U], items: Sequence[T]) -> U:
        """The work done for every item, put together a few at a time: a tree of merges."""


class LocalEngine:
    """All work here, one after the other; DuckDB uses the cores, and spills to disk if memory is short."""

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
