"""The metrics as a file that node_exporter's textfile collector reads, written from a thread of its own.

A disk that hangs holds up the thread, and not the recorder. Whoever reads the file meets all of it: it is
written beside and renamed. It goes when the recorder ends, so that no old number is taken for a new one; one
that is killed leaves it, and its age is in `node_textfile_mtime_seconds`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from necroscope.errors import UntrustedFolderError
from necroscope.store.durable import write_durably
from necroscope.store.trusted_folder import open_folder_of

EVERY_SECONDS = 15.0
FIRST_SECONDS = 2.0  # after the start, when there is hardly anything to say
END_SECONDS = 5.0  # for the last thing the thread does: to remove the file
MODE = 0o644  # node_exporter has a user of its own


class Textfile:
    """Written at once, soon again, and then every so often.

    Raises OSError if it cannot be written at the start, UntrustedFolderError if others could lead it away.
    """

    def __init__(self, path: Path, render: Callable[[], str], every_seconds: float = EVERY_SECONDS) -> None:
        self.error = ""  # why it cannot be written now
        self._path = path
        self._render = render
        self._every_seconds = every_seconds
        self._ending = threading.Event()
        self._write()
        self._thread = threading.Thread(target=self._run, name="textfile", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Remove the file, if the disk lets us in time."""
        self._ending.set()
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        pause = min(FIRST_SECONDS, self._every_seconds)
        while not self._ending.wait(pause):
            pause = self._every_seconds
            try:
                self._write()
                self.error = ""
            except OSError as error:
                self.error = f"{self._path}: {error.strerror}"
            except UntrustedFolderError as error:
                self.error = str(error)
        with suppress(OSError, UntrustedFolderError), self._folder() as folder:
            os.unlink(self._path.name, dir_fd=folder)

    def _write(self) -> None:
        # The collector reads *.prom only, and a new file soon.
        with self._folder() as folder:
            content = self._render().encode()
            write_durably(Path(self._path.name), content, mode=MODE, sync=False, dir_fd=folder)

    @contextmanager
    def _folder(self) -> Iterator[int]:
        folder = open_folder_of(self._path)
        try:
            yield folder
        finally:
            os.close(folder)
