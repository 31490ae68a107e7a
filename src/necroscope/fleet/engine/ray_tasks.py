"""A Ray cluster does the counting: tasks over some files or items each, put together eight at a time.

    with ray_engine("ray://head:10001") as engine:
        engine.gather(tables, gathering, begin_us, end_us)

A node that is lost costs time, never the answer: what it had is done again elsewhere. The answers are those
of the local engine to the last digit, because only whole numbers are put together, and in one order.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

import pyarrow as pa

from necroscope.errors import ClusterError
from necroscope.fleet.engine import ray_work
from necroscope.fleet.engine.gathering import Gathering, gather_files
from necroscope.fleet.engine.ray_connection import joined
from necroscope.fleet.engine.ray_errors import translate_errors
from necroscope.fleet.engine.ray_work import Chunk
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.fleet.tables.index import TableFile

T = TypeVar("T")
U = TypeVar("U")

FAN_IN = 8
RETRIES = 10  # of a task whose worker or node is lost; what raises an error is not tried again
CHUNKS_PER_CPU = 4  # a slow or lost worker holds up little
LEAST_CHUNK_BYTES = 64 << 10  # less is read faster than a task begins
TOLD_SECONDS = 0.5


class RayEngine:
    """The tasks of a cluster that was joined."""

    def __init__(self) -> None:
        import ray

        self._ray: Any = ray
        with translate_errors("the cluster"):
            self.workers = max(int(ray.cluster_resources().get("CPU", 1)), 1)

    def gather(self, tables: FleetTables, gathering: Gathering, begin_us: int, end_us: int) -> pa.Table:
        """All that a gathering finds in a range of time, in the order of its keys."""
        files = tables.index.of(gathering.table, begin_us, end_us)
        if not files:
            return gather_files(gathering, [], begin_us, end_us)
        if not tables.address:
            raise ClusterError("these tables are on this machine alone", hint="--fleet PLACE that all reach")
        chunks = [
            Chunk(tables.address, tuple(some), gathering, begin_us, end_us)
            for some in chunks_of_files(files, self.workers * CHUNKS_PER_CPU)
        ]
        task, merge = self._task(ray_work.gather_chunk), self._task(ray_work.merge_gathered)
        leaves = [task.remote(chunk) for chunk in chunks]
        return self._one(f"reading {gathering.table}", leaves, lambda *parts: merge.remote(gathering, *parts))

    def map(self, work: Callable[[T], U], items: Sequence[T]) -> Iterable[U]:
        """The work done for every item, in the order of the items."""
        task = self._task(ray_work.do_each)
        with translate_errors("the cluster"):
            refs = [task.remote(work, some) for some in self._chunks(items)]
            self._wait("working", refs)
            return [done for some in self._ray.get(refs) for done in some]

    def reduce(self, work: Callable[[T], U], merge: Callable[[Sequence[U]], U], items: Sequence[T]) -> U:
        """The work done for every item, put together a few at a time, in the order of the items."""
        if not items:
            return merge([])
        task, merging = self._task(ray_work.do_and_merge), self._task(ray_work.merge_some)
        leaves = [task.remote(work, merge, some) for some in self._chunks(items)]
        done: U = self._one("working", leaves, lambda *parts: merging.remote(merge, *parts))
        return done

    def _task(self, function: Callable[..., object]) -> Any:
        return self._ray.remote(num_cpus=1, max_retries=RETRIES)(function)

    def _chunks(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        size = max(-(-len(items) // (self.workers * CHUNKS_PER_CPU)), 1)
        return (items[begin : begin + size] for begin in range(0, len(items), size))

    def _one(self, what: str, refs: list[Any], merge: Callable[..., Any]) -> Any:
        """What a tree of merges makes of some results; all of it is submitted at once."""
        with translate_errors("the cluster"):
            tasks = list(refs)
            while len(refs) > 1:
                refs = [merge(*refs[begin : begin + FAN_IN]) for begin in range(0, len(refs), FAN_IN)]
                tasks += refs
            self._wait(what, tasks)
            return self._ray.get(refs[0])

    def _wait(self, what: str, refs: list[Any]) -> None:
        """Until all are done, or the last has failed; an error is raised by who gets the result."""
        with told_progress(what) as tell:
            waiting = list(refs)
            while waiting:
                _, waiting = self._ray.wait(
                    waiting, num_returns=len(waiting), timeout=TOLD_SECONDS, fetch_local=False
                )
                tell(len(refs) - len(waiting), len(refs))


@contextmanager
def ray_engine(address: str) -> Iterator[RayEngine]:
    """The users' own cluster at an address, joined for as long as it takes."""
    with silent_threads(), joined(address):
        yield RayEngine()


def chunks_of_files(files: Sequence[TableFile], most: int) -> list[list[TableFile]]:
    """Files that follow each other, about as many bytes in each chunk, and not too few."""
    share = max(sum(file.bytes for file in files) // max(most, 1), LEAST_CHUNK_BYTES)
    chunks: list[list[TableFile]] = [[]]
    size = 0
    for file in files:
        if chunks[-1] and size + file.bytes > share:
            chunks.append([])
            size = 0
        chunks[-1].append(file)
        size += file.bytes
    return chunks


@contextmanager
def told_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """What is called with how many tasks are done, of how many. The line is gone in the end."""
    stream = sys.stderr
    is_shown = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"

    def tell(done: int, all_of_them: int) -> None:
        if is_shown:
            stream.write(f"\r\x1b[K{what}: {done} of {all_of_them}")
            stream.flush()

    try:
        yield tell
    finally:
        if is_shown:
            stream.write("\r\x1b[K")
            stream.flush()


class _OwnThreadsStream:
    """A stream that only the thread which made this writes to; what others write is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._owner = threading.get_ident()

    def write(self, text: str) -> int:
        """Write, or not."""
        return self._stream.write(text) if threading.get_ident() == self._owner else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def silent_threads() -> Iterator[None]:
    """While it lasts, stdout is for this thread alone."""
    before: Any = sys.stdout
    if before is None:
        yield
        return
    sys.stdout = _OwnThreadsStream(before)
    try:
        yield
    finally:
        sys.stdout = before
