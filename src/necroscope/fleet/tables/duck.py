"""DuckDB as the fleet uses it: in this process, bounded in memory, spilling to disk beyond that.

NECROSCOPE_FLEET_MEMORY says how much it may take, 1536MiB if nothing does; NECROSCOPE_FLEET_THREADS how many
threads it has, one a core if nothing does.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa

from necroscope.errors import StoreError, UsageError
from necroscope.fleet.tables.columns import TABLES
from necroscope.model.quantities import parse_size

MEMORY_VARIABLE = "NECROSCOPE_FLEET_MEMORY"
THREADS_VARIABLE = "NECROSCOPE_FLEET_THREADS"
MEMORY_BYTES = 1536 << 20  # what is Python's and the answer's own comes on top: in all below 2 GB
LEAST_BYTES = 64 << 20


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one question. StoreError: a table cannot be read, or takes too much memory."""
    with _translate_errors(), _database(os.getpid(), _memory_bytes()).cursor() as connection:
        yield connection


@contextmanager
def viewed(files: Mapping[str, Sequence[Path]]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with the files of each table as a view of its name; without files it is empty."""
    with connected() as connection:
        for table, paths in files.items():
            if paths:
                names = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
                content = f"read_parquet([{names}], filename = true)"
                connection.execute(f"CREATE TEMP VIEW {table} AS SELECT * FROM {content}")
            else:
                schema = TABLES[table].append(pa.field("filename", pa.string()))
                connection.register(table, schema.empty_table())
        yield connection


@cache
def _database(pid: int, memory_bytes: int) -> duckdb.DuckDBPyConnection:
    """The one database of a process, in memory: all questions at a time share what it may take.

    A process that was forked must not use that of its parent, hence the number.
    """
    folder = tempfile.mkdtemp(prefix=f"necroscope-fleet-{pid}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_bytes // 1024}KiB",
        "temp_directory": folder,
        "threads": _threads(),
        "preserve_insertion_order": False,  # all that is asked is ordered in the end
        "autoinstall_known_extensions": False,  # nothing is ever fetched from elsewhere
    }
    return duckdb.connect(config=settings)


def _memory_bytes() -> int:
    text = os.environ.get(MEMORY_VARIABLE, "")
    try:
        return max(parse_size(text), LEAST_BYTES) if text else MEMORY_BYTES
    except ValueError as error:
        raise UsageError(f"{MEMORY_VARIABLE}: {error}") from error


def _threads() -> int:
    text = os.environ.get(THREADS_VARIABLE, "")
    try:
        return max(int(text), 1) if text else len(os.sched_getaffinity(0))
    except ValueError as error:
        raise UsageError(f"{THREADS_VARIABLE}: '{text}' is not a number") from error


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise StoreError(
            f"the question takes too much memory: {error}", hint=f"{MEMORY_VARIABLE}=4GiB"
        ) from error
    except duckdb.Error as error:  # which one depends on where in a file the damage is
        if isinstance(error, duckdb.FatalException):
            _database.cache_clear()  # no question could be asked of it any more
        hint = "a file in the cache may be removed: it is fetched again; one in the place has to be restored"
        raise StoreError(f"a table cannot be read: {error}", hint=hint) from error
