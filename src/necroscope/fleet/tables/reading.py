"""The tables of a place: as they lie in a folder, or fetched into a cache from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.cache import Cache, Wanted, default_cache
from necroscope.fleet.tables.index import INDEX, Index, TableFile, parse_index
from necroscope.fleet.tables.opened import FleetTables, tables_in_folder


def read_tables(place: Place, cache: Cache | None = None) -> FleetTables:
    """The tables as they are now; an empty index where nothing was ingested."""
    content = place.read(INDEX)
    index = parse_index(content) if content is not None else Index()
    if isinstance(place, FolderPlace):
        return tables_in_folder(place.root, index)
    kept = cache or default_cache()

    def bring(files: Sequence[TableFile]) -> Sequence[Path]:
        return kept.bring(place, [Wanted(file.name, file.bytes, file.sha256) for file in files])

    return FleetTables(index, bring)
