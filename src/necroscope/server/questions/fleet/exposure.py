"""How long every host was recorded in every hour, and with which facts.

Kept by file: a file of a table never changes, so that only new hours are read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from necroscope.fleet.tables.duck import viewed
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.index import TableFile

HOURS_KEPT = 24 * 35
QUERY = """SELECT filename, host, facts, CAST(sum(recorded_us) AS BIGINT) AS recorded_us,
    CAST(max(end_us) AS BIGINT) AS end_us FROM segments GROUP BY ALL ORDER BY filename"""


@dataclass(frozen=True, slots=True)
class Hour:
    """A row for every host and its facts."""

    begin_us: int
    hosts: NDArray[np.int32]  # numbers of names
    facts: NDArray[np.int32]
    recorded_us: NDArray[np.int64]
    end_us: int  # of the newest second


@dataclass(slots=True)
class Names:
    """Numbers for names, given as they come."""

    numbers: dict[str, int] = field(default_factory=dict)

    def numbered(self, column: Any) -> NDArray[np.int32]:
        """A column of names as numbers."""
        encoded = column.combine_chunks().dictionary_encode()
        known = [
            self.numbers.setdefault(name or "", len(self.numbers)) for name in encoded.dictionary.to_pylist()
        ]
        indices = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
        known.append(self.numbers.setdefault("", len(self.numbers)))
        numbers: NDArray[np.int32] = np.asarray(known, np.int32)[indices]
        return numbers

    def all(self) -> list[str]:
        """The names in the order of their numbers."""
        return list(self.numbers)


class Exposure:
    """The hours that were read, of many questions."""

    def __init__(self) -> None:
        self.hosts, self.facts = Names(), Names()
        self._hours: dict[str, Hour] = {}
        self._lock = Lock()

    def hours(self, tables: FleetTables, begin_us: int, end_us: int) -> list[Hour]:
        """The hours of a range, the oldest first."""
        wanted = tables.index.of("segments", begin_us, end_us)
        with self._lock:
            missing = [file for file in wanted if file.name not in self._hours]
            for file, hour in self._read(missing, tables.bring(missing) if missing else []):
                self._hours[file.name] = hour
            found = [self._hours[file.name] for file in wanted]
            self._forget({file.name for file in wanted})
        return found

    def _forget(self, wanted: set[str]) -> None:
        """What was read first goes first."""
        for name in [name for name in self._hours if name not in wanted]:
            if len(self._hours) <= HOURS_KEPT:
                return
            del self._hours[name]

    def _read(self, files: Sequence[TableFile], paths: Sequence[Path]) -> Iterator[tuple[TableFile, Hour]]:
        if not files:
            return
        with viewed({"segments": paths}) as connection:
            rows = connection.sql(QUERY).to_arrow_table()
        files_of_rows = Names()  # the rows come by file, so that their numbers only grow
        numbers = files_of_rows.numbered(rows.column("filename"))
        hosts, facts = self.hosts.numbered(rows.column("host")), self.facts.numbered(rows.column("facts"))
        recorded_us, end_us = (rows.column(name).to_numpy() for name in ("recorded_us", "end_us"))
        for file, path in zip(files, paths, strict=True):
            number = files_of_rows.numbers.get(str(path), len(numbers))
            begin, end = (int(np.searchsorted(numbers, number, side)) for side in ("left", "right"))
            newest_us = int(end_us[begin:end].max(initial=0))
            yield (
                file,
                Hour(file.begin_us, hosts[begin:end], facts[begin:end], recorded_us[begin:end], newest_us),
            )
