"""The fleet that the page shows: its tables, read anew now and then, and the answers that took long.

Nothing here imports what only a fleet needs before it is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from necroscope.errors import NothingRecordedError, PlaceError
from necroscope.fleet.packages import needs_packages
from necroscope.fleet.place.place import Place, open_place
from necroscope.server.questions.failure import folder_of, without_paths
from necroscope.server.questions.lru_cache import LruCache
from necroscope.server.questions.recorded_store import RecordedStore

if TYPE_CHECKING:
    from necroscope.fleet.engine.engine import Engine
    from necroscope.fleet.tables.fleet_tables import FleetTables
    from necroscope.server.questions.fleet.episodes import HostEpisode
    from necroscope.server.questions.fleet.exposure import Exposure, Hour
    from necroscope.server.questions.fleet.fleet_span import FleetSpan
    from necroscope.server.questions.fleet.grouping import Grouping

T = TypeVar("T")
AGAIN_SECONDS = 10.0
MOST_KEPT = 64


def check_place(address: str) -> None:
    """UsageError where an address means no place. It is not asked anything."""
    with needs_packages():
        open_place(address)


class FleetStore:
    """A place that many threads ask."""

    def __init__(self, address: str, store: RecordedStore) -> None:
        self.address = address
        self.store = store  # of this machine; what is brought from the place is seen in it
        self.trouble = ""  # why the tables may be old
        self._lock = Lock()
        self._read: tuple[float, FleetTables] | None = None
        self._kept: LruCache[Any] = LruCache(MOST_KEPT)

    @cached_property
    def place(self) -> Place:
        """The place, opened when it is asked first."""
        with needs_packages():
            return open_place(self.address)

    @cached_property
    def engine(self) -> Engine:
        """Who counts: this process."""
        from necroscope.fleet.engine.engine import LocalEngine

        return LocalEngine()

    @cached_property
    def exposure(self) -> Exposure:
        """How long hosts were recorded."""
        from necroscope.server.questions.fleet.exposure import Exposure

        return Exposure()

    def tables(self) -> FleetTables:
        """The newest tables. A place that is away leaves those that were read, and its trouble is told."""
        with self._lock:
            if self._read is None or time.monotonic() - self._read[0] >= AGAIN_SECONDS:
                tables = self._newest()
                self._read = (time.monotonic(), tables) if tables.index.files else None
            else:
                tables = self._read[1]
        if not tables.index.files:
            hint = "necroscope fleet ingest makes them of what hosts have sent"
            raise NothingRecordedError(f"{self.place.address} has no tables yet", hint=hint)
        return tables

    def _newest(self) -> FleetTables:
        from necroscope.fleet.tables.read_tables import read_tables

        try:
            found, self.trouble = read_tables(self.place), ""
        except PlaceError as error:
            if self._read is None:
                raise
            found, self.trouble = self._read[1], without_paths(error.what, folder_of(self.address))
        return found

    def kept(self, question: Hashable, answer: Callable[[FleetTables], T]) -> T:
        """The answer to a question about the tables as they are now; asked once."""
        tables = self.tables()
        found: T = self._kept.get(
            (tables.index.made_us, tables.index.files, question), lambda: answer(tables)
        )
        return found

    def grouping(self, label: str) -> Grouping:
        """Which facts are in which group."""
        from necroscope.server.questions.fleet.grouping import read_grouping

        return self.kept(("grouping", label), lambda tables: read_grouping(tables, self.engine, label))

    def episodes(self, span: FleetSpan) -> list[HostEpisode]:
        """What happened in a range."""
        from necroscope.server.questions.fleet.episodes import read_episodes

        return self.kept(("episodes", span), lambda tables: read_episodes(tables, span))

    def hours(self, span: FleetSpan) -> list[Hour]:
        """How long hosts were recorded in a range."""
        return self.exposure.hours(self.tables(), span.begin_us, span.end_us)
