"""The tables of a place: as they lie in a folder, or fetched into a cache from elsewhere."""

from __future__ import annotations

from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.index import INDEX, Index, parse_index
from necroscope.fleet.tables.opened import FleetTables, tables_in_folder


def read_tables(place: Place) -> FleetTables:
    """The tables as they are now; an empty index where nothing was ingested."""
    content = place.read(INDEX)
    index = parse_index(content) if content is not None else Index()
    if isinstance(place, FolderPlace):
        return tables_in_folder(place.root, index)
    raise NotImplementedError
