"""What the workers of a cluster do. They find the tables by the address of the place, not by our cache."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import necroscope

if TYPE_CHECKING:
    import pyarrow as pa

    from necroscope.fleet.engine.gathering import Gathering
    from necroscope.fleet.tables.index import TableFile

T = TypeVar("T")
U = TypeVar("U")

NEEDED = ("duckdb", "numpy", "pyarrow", "scipy")
OURS = ("*.py", "*.toml")
THREADS_VARIABLE = (
    "NECROSCOPE_FLEET_THREADS"  # as in `tables/duck`, which needs a package that may be missing here
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some files of a table, and what is gathered from them."""

    address: str  # of the place
    files: tuple[TableFile, ...]
    gathering: Gathering
    begin_us: int
    end_us: int


def gather_chunk(chunk: Chunk) -> pa.Table:
    """The part of an answer that some files have; on a node that has none of them they are fetched."""
    from necroscope.fleet.engine.gathering import gather_files
    from necroscope.fleet.place.place import open_place
    from necroscope.fleet.tables.read_tables import bringing

    _be_modest()
    paths = bringing(open_place(chunk.address))(chunk.files)
    return gather_files(chunk.gathering, paths, chunk.begin_us, chunk.end_us)


def merge_gathered(gathering: Gathering, *parts: pa.Table) -> pa.Table:
    """Several parts of an answer as one."""
    from necroscope.fleet.engine.gathering import merge_parts

    _be_modest()
    return merge_parts(gathering, parts)


def do_each(work: Callable[[T], U], items: Sequence[T]) -> list[U]:
    """The work for some items."""
    _be_modest()
    return [work(item) for item in items]


def do_and_merge(work: Callable[[T], U], merge: Callable[[Sequence[U]], U], items: Sequence[T]) -> U:
    """The same, put together."""
    return merge(do_each(work, items))


def merge_some(merge: Callable[[Sequence[U]], U], *parts: U) -> U:
    """Several results as one."""
    _be_modest()
    return merge(parts)


def code_digest() -> str:
    """What our code is, wherever it is installed: only the same code gives the same answers."""
    folder = Path(necroscope.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for pattern in OURS for path in folder.rglob(pattern)):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


def missing_packages() -> list[str]:
    """Which of the packages that a question needs are not here."""
    importlib.import_module("necroscope._native")
    missing = []
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            missing.append(name)
    return missing


def _be_modest() -> None:
    """A task has one CPU of its node; DuckDB would take all that it sees."""
    os.environ.setdefault(THREADS_VARIABLE, "1")
