"""Writes open segments in a thread of its own: a slow or full disk must not hold up the counters.

What cannot be written stays in memory, up to a bound, and is written as soon as the disk takes it again.
Every second is synced, so that a power cut costs no more than a crash does.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.store.durable import (
    FILE_MODE,
    make_folders,
    sync_file,
    sync_folder,
    write_durably,
)
from necroscope.store.journal import JOURNAL, LOCK
from necroscope.store.process_lock import hold
from necroscope.store.store import DESCRIPTION

MOST_WAITING_BYTES = 16 << 20  # an hour on 2 cores, some minutes on 96
RETRY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Begin:
    folder: Path
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _End:
    folder: Path


class Writer:
    """One open segment at a time. No method waits for the disk but `close`."""

    def __init__(
        self,
        most_waiting_bytes: int = MOST_WAITING_BYTES,
        retry_seconds: float = RETRY_SECONDS,
        make_room: Callable[[], object] | None = None,
    ) -> None:
        self.error = ""
        self.dropped = 0
        self.finished: deque[Path] = deque()  # segments whose journal is complete on disk
        self.beside: Path | None = None  # another file of the open segment to be synced: perf's
        self._most_waiting_bytes = most_waiting_bytes
        self._waiting_bytes = 0
        self._make_room = make_room
        self._retry_seconds = retry_seconds
        self._items: deque[_Begin | _End | bytes] = deque()
        self._news = threading.Condition()
        self._closing = False
        self._descriptor = self._lock = -1
        self._size = 0
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Frames that are not on disk yet."""
        return len(self._items)

    def begin(self, folder: Path, document: Mapping[str, Any]) -> None:
        """Open a segment; what is appended from now on belongs to it."""
        self._put(_Begin(folder, document))

    def append(self, data: bytes) -> None:
        """Add a frame to the open segment."""
        self._put(data)

    def end(self, folder: Path) -> None:
        """Nothing more will come for this segment."""
        self._put(_End(folder))

    def close(self, timeout_seconds: float) -> None:
        """Write what is left, if the disk takes it in time."""
        with self._news:
            self._closing = True
            self._news.notify()
        self._thread.join(timeout_seconds)

    def _put(self, item: _Begin | _End | bytes) -> None:
        with self._news:
            self._items.append(item)
            self._waiting_bytes += _size(item)
            while self._waiting_bytes > self._most_waiting_bytes and self._drop_oldest():
                self.dropped += 1
            self._news.notify()

    def _drop_oldest(self) -> bool:
        """Forget the oldest frame; where segments begin and end is kept."""
        for index, item in enumerate(self._items):
            # The first one may be on its way to the disk, and the last is the newest.
            if isinstance(item, bytes) and 0 < index < len(self._items) - 1:
                self._waiting_bytes -= _size(item)
                del self._items[index]
                return True
        return False

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._items or self._closing)
                if not self._items:
                    return
            try:
                self._write_all()
                self.error = ""
            except OSError as error:
                self.error = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
                if self._make_room and error.errno == errno.ENOSPC:
                    with suppress(OSError):
                        self._make_room()
                with self._news:
                    if self._closing:
                        return
                    self._news.wait_for(lambda: self._closing, self._retry_seconds)

    def _write_all(self) -> None:
        while self._items:
            self._write(self._items[0])
            with self._news:
                self._waiting_bytes -= _size(self._items.popleft())
        if self._descriptor >= 0:
            os.fdatasync(self._descriptor)
        if self.beside:
            with suppress(FileNotFoundError):  # sealed and gone meanwhile
                sync_file(self.beside)

    def _write(self, item: _Begin | _End | bytes) -> None:
        if isinstance(item, _Begin):
            self._open(item)
        elif isinstance(item, _End):
            if self._descriptor >= 0:
                os.fdatasync(self._descriptor)
                os.close(self._descriptor)
                os.close(self._lock)
            self._descriptor = self._lock = -1
            self.finished.append(item.folder)
        elif self._descriptor >= 0:
            self._append(item)

    def _open(self, item: _Begin) -> None:
        make_folders(item.folder)
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        )
        lock = hold(item.folder / LOCK)  # nobody may seal it meanwhile
        descriptor = -1
        try:
            descriptor = os.open(item.folder / JOURNAL, flags, FILE_MODE)
            # After the journal: an open segment without one could be neither read nor sealed.
            write_durably(item.folder / DESCRIPTION, json.dumps(item.document, indent=1).encode())
            sync_folder(item.folder)
            sync_folder(item.folder.parent)
        except OSError:
            os.close(lock)  # or it would keep the next attempt out
            if descriptor >= 0:
                os.close(descriptor)
            raise
        self._descriptor, self._lock, self._size = descriptor, lock, 0

    def _append(self, data: bytes) -> None:
        try:
            if os.write(self._descriptor, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), JOURNAL)
        except OSError:
            # Half a frame would hide the next one until its magic is searched for.
            os.ftruncate(self._descriptor, self._size)
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
            raise
        self._size += len(data)


def _size(item: _Begin | _End | bytes) -> int:
    return len(item) if isinstance(item, bytes) else 0
