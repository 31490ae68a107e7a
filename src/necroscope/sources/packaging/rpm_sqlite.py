"""SQLite, as Fedora since 33, RHEL since 9 and Amazon Linux 2023 keep RPM's packages: `rpmdb.sqlite`.

The file is opened as one that nobody changes, so that SQLite neither locks it nor puts anything beside
it. Then SQLite does not look at changes that are in a log and not yet in the file. Where there is such a
log, and of an image always, a copy is read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from necroscope.sources.host import Host
from necroscope.sources.packaging.rpm_header import MOST_HEADER_BYTES

LOGS = ("-wal", "-journal")
MOST_LOG_BYTES = 1 << 30


def read_headers(host: Host, name: str, file_bytes: int) -> Iterator[bytes]:
    """The headers of all packages. Raises ValueError where the file is no such database, or damaged."""
    log_bytes = {log: _content_bytes(host, log) for log in (name + ending for ending in LOGS)}
    left_bytes = file_bytes + sum(log_bytes.values())
    if left_bytes > file_bytes + MOST_LOG_BYTES:
        raise ValueError("its log of changes is too large")
    try:
        logs = [log for log, size in log_bytes.items() if size]
        with _openable(host, name, logs) as address, closing(_open(address)) as database:
            for (blob,) in database.execute("SELECT blob FROM Packages"):
                # Rows of a damaged file may share pages, which could make it into a huge answer.
                left_bytes -= len(blob)
                if left_bytes < 0:
                    raise ValueError("the records are larger than the file")
                yield bytes(blob)
    except (sqlite3.Error, TypeError) as error:  # TypeError: a blob that is none
        raise ValueError(f"SQLite says: {error}") from error


def _content_bytes(host: Host, log: str) -> int:
    try:
        status = host.path(log).lstat()  # SQLite does not follow a link here either
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


@contextmanager
def _openable(host: Host, name: str, logs: list[str]) -> Iterator[str]:
    """Give the address under which SQLite can open the database and see all of it.

    SQLite resolves links and opens a file by its name. Who owns an image could lead it out of there
    meanwhile, so of an image a copy is read.
    """
    if host.is_own and not logs:
        yield f"file:{quote(name)}?mode=ro&immutable=1"
        return
    with ExitStack() as stack:
        try:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="necroscope-")))
            files = [(stack.enter_context(host.found(one)), folder / Path(one).name) for one in (name, *logs)]
            _copy(files)
        except OSError as error:
            raise ValueError(f"no copy to read it in: {error}") from error
        yield f"file:{quote(os.fsencode(files[0][1]))}?mode=rw"


def _copy(files: list[tuple[str, Path]]) -> None:
    """Copy files that belong together."""
    before = [_version(file) for file, _ in files]
    for file, copy in files:
        shutil.copyfile(file, copy)
    if before != [_version(file) for file, _ in files]:
        raise ValueError("it is being changed at this moment")


def _version(file: str) -> tuple[int, int]:
    status = os.stat(file)  # noqa: PTH116 - not to resolve the link to a descriptor
    return status.st_size, status.st_mtime_ns


def _open(address: str) -> sqlite3.Connection:
    """The database, if its packages are a table and nothing that computes its content."""
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_HEADER_BYTES)
        row = database.execute("SELECT type, rootpage FROM sqlite_master WHERE name = 'Packages'").fetchone()
        columns = {name: hidden for _, name, *_, hidden in database.execute("PRAGMA table_xinfo(Packages)")}
        # A virtual table has no page, and a computed column is hidden.
        if row is None or row[0] != "table" or not row[1] or columns.get("blob") != 0:
            raise ValueError("it has no table of packages")
    except (sqlite3.Error, ValueError):
        database.close()
        raise
    return database
