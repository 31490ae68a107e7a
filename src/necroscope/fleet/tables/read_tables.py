"""The tables of a place: as they lie in a folder, or fetched into a cache from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.cache import Cache, Wanted, default_cache
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.index import INDEX, MAX_INDEX_BYTES, Index, TableFile, parse_index


def read_tables(place: Place, cache: Cache | None = None) -> FleetTables:
    """The tables as they are now; an empty index where nothing was ingested."""
    content = place.read(INDEX, MAX_INDEX_BYTES)
    index = parse_index(content) if content is not None else Index()
    address = str(place.root.absolute()) if isinstance(place, FolderPlace) else place.address
    return FleetTables(index, bringing(place, cache), address)


def bringing(place: Place, cache: Cache | None = None) -> Callable[[Sequence[TableFile]], Sequence[Path]]:
    """How files of a place come to this machine."""
    if isinstance(place, FolderPlace):
        return partial(_in_folder, place)
    kept = cache or default_cache()
    return lambda files: kept.bring(place, [Wanted(file.name, file.bytes, file.sha256) for file in files])


def _in_folder(place: FolderPlace, files: Sequence[TableFile]) -> list[Path]:
    """Return where files are. StoreError if one is missing, a link or a pipe."""
    for file in files:
        if place.size(file.name) is None:
            what = f"{place.address}: {file.name} is not there, or not a file"
            raise StoreError(what, hint="the tables were made again meanwhile: ask again")
    return [place.root / file.name for file in files]
