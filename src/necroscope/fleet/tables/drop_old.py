"""What no question needs any more: files that no index names, and the blobs of hours that are not kept.

A file goes an hour after the last index that named it; what somebody killed left behind, after two. A blob
goes when the last segment that has it is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.add_rows import Adding
from necroscope.fleet.tables.index import ALWAYS, FILE, Index, TableFile
from necroscope.fleet.tables.parquet import decoded
from necroscope.model.timestamp import HOUR_US, hour_begin_us

READ_FOR_US = HOUR_US  # who has read an index may go on reading what it names for so long
LEFT_FOR_US = 2 * HOUR_US


def hours_beyond(index: Index, keep_us: int, now_us: int) -> list[TableFile]:
    """The files of hours that are older than what is kept."""
    return [
        file for file in index.files if file.hour != ALWAYS and file.begin_us + HOUR_US <= now_us - keep_us
    ]


def outdated_files(place: Place, index: Index, now_us: int) -> list[str]:
    """The names of files that nobody can be reading."""
    named = {file.name for file in index.files}
    return [
        stored.name
        for stored in place.below("tables/")
        if stored.name not in named
        and stored.name not in index.rejected  # damaged, but it may be all there is of its hour
        and (
            now_us - index.replaced[stored.name] >= READ_FOR_US
            if stored.name in index.replaced
            else now_us - stored.modified_us >= LEFT_FOR_US
        )
    ]


def blobs_beyond(
    names: Iterable[str], place: Place, adding: Adding, index: Index, before_us: int
) -> list[str]:
    """The blobs of dropped hours, told by their files among outdated ones, that no kept segment has."""
    gone: set[tuple[str, str]] = set()
    for name in names:
        match = FILE.fullmatch(name)
        if match and match["table"] == "files" and hour_begin_us(match["hour"]) + HOUR_US <= before_us:
            content = place.read(name)
            gone |= _blobs(decoded("files", content)) if content else set()
    if not gone:
        return []
    for file in index.files:
        if file.table == "files":
            gone -= _blobs(adding.rows(file))
    sections = adding.known(index).sections
    return sorted(f"hosts/{host}/blobs/{sha256}" for host, sha256 in gone if sha256 not in sections)


def remove_all(place: Place, names: Iterable[str], threads: ThreadPoolExecutor) -> int:
    """Take objects away; how many."""
    return sum(1 for _ in threads.map(place.remove, names))


def _blobs(rows: pa.Table) -> set[tuple[str, str]]:
    return set(zip(rows.column("host").to_pylist(), rows.column("sha256").to_pylist(), strict=True))
