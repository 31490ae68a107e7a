"""A file whose time of change says when the recorder last read this node, for a liveness probe.

It is touched from the recorder's own loop: a recorder whose loop hangs touches it no more, whatever its other
threads do. Put it on a tmpfs, since a disk that hangs would hold up the loop.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from necroscope.errors import UsageError
from necroscope.store.trusted_folder import open_folder_of

MODE = 0o644  # a probe may run as another user; there is nothing in it


class Heartbeat:
    """Touch a file with every beat; without one, do nothing. Raises UsageError if it cannot be made."""

    def __init__(self, path: Path | None) -> None:
        self._descriptor = -1
        if path is None:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            folder = open_folder_of(path)
            try:
                self._descriptor = os.open(path.name, flags, MODE, dir_fd=folder)
            finally:
                os.close(folder)
        except OSError as error:
            hint = "--heartbeat names a file in a folder that the recorder may write to, on a tmpfs"
            raise UsageError(f"cannot write {path}: {error.strerror}", hint=hint) from error
        self.beat()

    def beat(self) -> None:
        """Say that the recorder has just read the node."""
        if self._descriptor >= 0:
            with suppress(OSError):  # the probe will notice; that is no reason to stop
                os.utime(self._descriptor)
