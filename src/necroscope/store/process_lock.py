"""A file that one process holds at a time, and that tells the others who it is and since when."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from necroscope.model.timestamp import iso_utc
from necroscope.sources.plain_files import open_plain, read_plain

PAUSE_SECONDS = 0.05
MAX_BYTES = 4096
LOCK_MODE = 0o600  # whoever can read it could hold it
FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock."""

    pid: int
    since_ns: int  # UTC

    def __str__(self) -> str:
        return f"pid {self.pid}, since {iso_utc(self.since_ns)}"


class AlreadyHeldError(Exception):
    """Another process has it: `holder`, or None where that one could not say who it is."""

    def __init__(self, holder: Holder | None) -> None:
        super().__init__(str(holder))
        self.holder = holder


@contextmanager
def locked(
    path: Path, mode: int, *, tries: int = 1, remove: bool = False, dir_fd: int | None = None
) -> Iterator[None]:
    """Hold a file, which is made with `mode`. The kernel lets go when we end, however that is.

    With `remove` the file is gone afterwards. Raises AlreadyHeldError, and OSError where it cannot be made.
    """
    descriptor = _taken(path, mode, tries, dir_fd)
    try:
        with suppress(PermissionError):  # of a file that an older version made
            os.fchmod(descriptor, mode)
        os.ftruncate(descriptor, 0)
        with suppress(OSError):  # on a full disk nobody can be told who we are, but we hold it
            os.write(descriptor, json.dumps(asdict(Holder(os.getpid(), time.time_ns()))).encode())
        yield
    finally:
        if remove:
            with suppress(FileNotFoundError):
                os.unlink(path, dir_fd=dir_fd)
        os.close(descriptor)


def hold(path: Path) -> int:
    """Return a descriptor that holds a file until it is closed. Raises OSError, BlockingIOError if held."""
    descriptor = os.open(path, FLAGS, LOCK_MODE)
    if take(descriptor):
        return descriptor
    os.close(descriptor)
    raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), str(path))


def _taken(path: Path, mode: int, tries: int, dir_fd: int | None) -> int:
    """The file, open and held by us. One that its holder removed meanwhile is nobody's: the next is made."""
    while True:
        descriptor = os.open(path, FLAGS, mode, dir_fd=dir_fd)
        is_ours = take(descriptor, tries)
        if is_ours and os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)
        if not is_ours:
            raise AlreadyHeldError(told_by(path, dir_fd=dir_fd))


def take(descriptor: int, tries: int = 1) -> bool:
    """Whether it is ours now. It tries again for whoever asks `is_held`, and so has it for an instant."""
    for number in range(tries):
        if number:
            time.sleep(PAUSE_SECONDS)
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def is_held(path: Path, *, dir_fd: int | None = None) -> bool:
    """Whether some process holds it right now; nothing is written for it."""
    try:
        descriptor = open_plain(path, dir_fd=dir_fd)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def told_by(path: Path, *, dir_fd: int | None = None) -> Holder | None:
    """Who the file says it is; None where it does not."""
    try:
        document = json.loads(read_plain(path, MAX_BYTES, dir_fd=dir_fd))
        return Holder(int(document["pid"]), int(document["since_ns"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
