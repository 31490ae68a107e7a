"""Regular files that somebody else may have planted: never a link, a pipe or a device, and never too large.

A pipe would block us forever, a device may act when it is opened, a link leads where its maker wants, and a
sparse file of terabytes fills the memory of whoever reads all of it.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

OWN_DESCRIPTOR = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/(\d{1,6})")
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
STEP_BYTES = 1 << 20
MAX_LIST_BYTES = 4 << 20  # of a list that somebody wrote, such as one of hosts


def open_plain(path: Path | str, *, dir_fd: int | None = None, owners: Collection[int] | None = None) -> int:
    """Open a regular file, of one of these owners if given, and return its descriptor. Raises OSError."""
    descriptor = os.open(path, FLAGS, dir_fd=dir_fd)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        if owners is not None and status.st_uid not in owners:
            raise OSError(errno.EPERM, f"belongs to uid {status.st_uid}", str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_plain(
    path: Path | str, max_bytes: int, *, dir_fd: int | None = None, owners: Collection[int] | None = None
) -> bytes:
    """Return what is in a regular file. Raises OSError, also if there is more than `max_bytes`."""
    return _read(open_plain(path, dir_fd=dir_fd, owners=owners), path, max_bytes)


def read_named(path: Path, max_bytes: int) -> bytes:
    """Return what is in a file that the command line names, or in what is piped in: /dev/stdin, `<(...)`.

    Links are followed, since whoever names a file may choose it. Raises OSError as `read_plain` does.
    """
    piped = OWN_DESCRIPTOR.fullmatch(str(path))
    descriptor = os.dup(int(piped[1] or 0)) if piped else open_plain(path.resolve())
    return _read(descriptor, path, max_bytes)


@dataclass(slots=True)
class AtMost:
    """An open file of which so much may be read; more is an OSError."""

    file: BinaryIO
    left_bytes: int

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes. Raises OSError if there are more than may be read."""
        data = self.file.read(size)
        self.left_bytes -= len(data)
        if self.left_bytes < 0:
            raise OSError(errno.EFBIG, "larger than it should be")
        return data


def _read(descriptor: int, path: Path | str, max_bytes: int) -> bytes:
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        chunks: list[bytes] = []
        left = max_bytes + 1
        while left and (chunk := file.read(min(left, STEP_BYTES))):
            chunks.append(chunk)
            left -= len(chunk)
    if not left:
        raise OSError(errno.EFBIG, f"larger than {max_bytes:,} bytes", str(path))
    return b"".join(chunks)
