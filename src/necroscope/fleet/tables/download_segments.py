"""Whole segments that hosts have shipped, brought into a store on this machine, where all verbs read them.

    STORE/HOST/20261118T020000Z/             as on its host
    STORE/.brought/HOST/20261118T020000Z     that it was brought, how large it is, when it was used last

Only what was brought is ever removed again, the least recently used first; recordings of this machine in the
same store are left alone.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath

from necroscope.errors import NothingRecordedError, StoreError
from necroscope.fleet.place.canonical import SHORT, digest_of
from necroscope.fleet.place.place import Place
from necroscope.fleet.tables.cache import (
    FETCHED_AT_ONCE,
    MAKING,
    Kept,
    Wanted,
    default_cache,
    fetch_checked,
    too_many,
    translate_errors,
)
from necroscope.fleet.tables.duck import connected
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.timestamp import HOUR_US, LATEST_US, parse_compact_utc
from necroscope.store.durable import write_durably
from necroscope.store.store import DESCRIPTION, safe_name
from necroscope.store.trusted_folder import make_trusted

BROUGHT = ".brought"
MAX_FILES = 1000  # of a segment: ours have some dozens
MAX_BYTES = 1 << 30  # of a segment: an hour of a large node has some 100 MB


def brought_store(address: str) -> Path:
    """Return the store on this machine into which segments of a place are brought."""
    root = default_cache().root
    return root.with_name(f"{root.name}-segments") / digest_of(address.encode())[:SHORT]


def bring_segment(place: Place, tables: FleetTables, host: str, segment: str, store_root: Path) -> Path:
    """Fetch a shipped segment, all of it or nothing, and say where it is.

    NothingRecordedError: the host has not shipped it. StoreError: what was shipped is damaged. The store is
    bounded as the cache is, by NECROSCOPE_FLEET_CACHE_SIZE.
    """
    was_brought = (store_root / BROUGHT / host / segment).exists()
    is_recorded_here = is_here(host, segment, store_root) and not was_brought
    files = () if is_recorded_here else _files_of(tables, host, segment)
    return bring_files(place, host, segment, files, store_root)


def is_here(host: str, segment: str, store_root: Path) -> bool:
    """Whether a segment is in the store already. NothingRecordedError: it cannot be the name of one."""
    if not (is_plain(host) and is_plain(segment)):
        raise NothingRecordedError(f"'{host}/{segment}' is not the name of a segment")
    return (store_root / host / segment / DESCRIPTION).exists()


def bring_files(
    place: Place, host: str, segment: str, files: Sequence[tuple[str, int, str]], store_root: Path
) -> Path:
    """The same for who knows the files of a segment already: name, size and sha256 of each."""
    folder = store_root / host / segment
    mark = store_root / BROUGHT / host / segment
    size = sum(size for _, size, _ in files)
    # What is recorded here stays as it is; what came without its samples may be there with them now.
    if is_here(host, segment, store_root) and (not mark.exists() or size <= _mark(mark).bytes):
        with suppress(OSError):  # there is none, or it is of another user
            os.utime(mark)
        return folder
    with translate_errors(store_root):
        make_trusted(folder.parent)
        make_trusted(mark.parent)
        with tempfile.TemporaryDirectory(prefix=MAKING, dir=folder.parent) as made:
            _fetch(place, host, files, Path(made) / segment)
            write_durably(mark, str(size).encode())
            with suppress(OSError):
                folder.rename(Path(made) / "before")
            with suppress(OSError):  # another process was faster
                (Path(made) / segment).rename(folder)
        _drop_oldest(store_root)
    return folder


def is_plain(name: str) -> bool:
    """Whether a name of a host or a segment is just that: it comes from elsewhere and becomes a path."""
    return bool(name) and safe_name(name) == name


def is_inside(name: str) -> bool:
    """Whether the name of a file stays inside of its segment."""
    path = PurePosixPath(name)
    return bool(path.parts) and str(path) == name and not path.is_absolute() and ".." not in path.parts


def _fetch(place: Place, host: str, files: Sequence[tuple[str, int, str]], made: Path) -> None:
    if bad := [name for name, _, _ in files if not is_inside(name)]:
        raise StoreError(f"{host}: a segment with a file '{bad[0]}', which would lie outside of it")
    if DESCRIPTION not in {name for name, _, _ in files}:
        raise StoreError(f"{host}: a shipped segment has no {DESCRIPTION}")
    sizes = [size for _, size, _ in files]
    if len(files) > MAX_FILES or min(sizes) < 0 or sum(sizes) > MAX_BYTES:
        what = f"{host}: a segment of {len(files):,} files and {sum(sizes):,} bytes is not fetched"
        raise StoreError(what, hint=f"no segment has more than {MAX_FILES:,} files or {MAX_BYTES:,} bytes")
    wanted = [Wanted(f"hosts/{host}/blobs/{sha256}", size, sha256) for _, size, sha256 in files]
    paths = [made / name for name, _, _ in files]
    with ThreadPoolExecutor(FETCHED_AT_ONCE) as threads:
        list(threads.map(lambda one, path: fetch_checked(place, one, path), wanted, paths))


def _files_of(tables: FleetTables, host: str, segment: str) -> list[tuple[str, int, str]]:
    """Name, size and sha256 of the files of a segment, of the newest boot that has one of that name."""
    for begin_us, end_us in _likely_ranges(segment):
        paths = tables.paths("files", begin_us, end_us)
        if not paths:
            continue
        with connected() as connection:
            rows = connection.execute(
                "SELECT boot_id, name, bytes, sha256 FROM read_parquet($1) WHERE host = $2 AND segment = $3 "
                "ORDER BY begin_us DESC, boot_id, name",
                [[str(path) for path in paths], host, segment],
            ).fetchall()
        if rows:
            return [(name, size, sha256) for boot_id, name, size, sha256 in rows if boot_id == rows[0][0]]
    hint = "necroscope fleet request asks the host for it; events that are worth it come by themselves"
    raise NothingRecordedError(f"{host} has not shipped the samples of {segment}", hint=hint)


def _likely_ranges(segment: str) -> Iterator[tuple[int, int]]:
    """Where to look: around the time in the name, then everywhere: the host's clock may have been wrong."""
    with suppress(ValueError):
        begin_us = parse_compact_utc(segment.partition("-")[0]) // 1000
        yield max(0, begin_us - HOUR_US), begin_us + HOUR_US
    yield 0, LATEST_US


def _drop_oldest(store_root: Path) -> None:
    marks = [_mark(path) for path in (store_root / BROUGHT).glob("*/*")]
    for kept in too_many(marks, default_cache().limit_bytes):
        parent = store_root / kept.path.parent.name
        with suppress(OSError), tempfile.TemporaryDirectory(prefix=MAKING, dir=parent) as going:
            (parent / kept.path.name).rename(Path(going) / kept.path.name)  # never half there
        with suppress(OSError):
            kept.path.unlink()


def _mark(path: Path) -> Kept:
    with suppress(OSError, ValueError):
        return Kept(path, int(path.read_text()), path.stat().st_mtime_ns)
    return Kept(path, 0, 0)
