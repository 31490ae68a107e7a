"""The tables of a fleet, opened to be read: files on this machine, fetched where the place is elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from necroscope.fleet.tables.index import Index, TableFile
from necroscope.model.timestamp import LATEST_US


@dataclass(frozen=True, slots=True)
class FleetTables:
    """What an index names; `bring` gives the local paths of some of its files, in the same order.

    By the address of the place other machines find the same files; empty: only this process has them.
    """

    index: Index
    bring: Callable[[Sequence[TableFile]], Sequence[Path]]
    address: str = ""

    def paths(self, table: str, begin_us: int = 0, end_us: int = LATEST_US) -> list[Path]:
        """The files of a table that may have rows of a range. More than the range may be in them."""
        return list(self.bring(self.index.of(table, begin_us, end_us)))
