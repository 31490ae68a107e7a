"""What a question asks of whoever does the counting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import pyarrow as pa

from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.tables.opened import FleetTables

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
