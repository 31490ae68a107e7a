"""A folder as a place: for one machine, or a file system that all hosts share.

The folder itself must be there: one that is not mounted is an error, and never made in its stead.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from necroscope.errors import PlaceError
from necroscope.fleet.place.place import Stored
from necroscope.recording.durable import is_partial, make_folders, sync_folder, write_durably
from necroscope.sources.plain_files import open_plain, read_plain

MAX_OBJECT_BYTES = 1 << 30
MODE = 0o644  # who may enter the folder decides
LEFT_SECONDS = 3600.0  # what is older than this is not being written any more


class FolderPlace:
    """Objects are files. A name that would lead out of the folder is an error."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.address = str(root)
        self._swept: set[Path] = set()

    def read(self, name: str) -> bytes | None:
        """What an object holds; None: there is none."""
        with self._told(name):
            try:
                return read_plain(self.path(name), MAX_OBJECT_BYTES)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                self._look_for_root()
                return None

    def write(self, name: str, content: bytes) -> None:
        """Put an object there, all of it or nothing."""
        self._put(name, content)

    def write_file(self, name: str, path: Path) -> None:
        """The same with the content of a file."""
        with os.fdopen(open_plain(path), "rb") as file:
            self._put(name, file)

    def fetch(self, name: str, path: Path) -> bool:
        """Copy an object to a file; False: there is none."""
        content = self.read(name)
        if content is None:
            return False
        make_folders(path.parent)
        write_durably(path, content)
        return True

    def size(self, name: str) -> int | None:
        """How large an object is; None: there is none."""
        with self._told(name):
            try:
                status = self.path(name).stat()
            except (FileNotFoundError, NotADirectoryError):
                self._look_for_root()
                return None
            return status.st_size if stat.S_ISREG(status.st_mode) else None

    def below(self, prefix: str) -> Iterator[Stored]:
        """All objects below a prefix, in the order of their names."""
        with self._told(prefix):
            self._look_for_root()
            found = []
            for folder, _, names in os.walk(self.path(prefix), onerror=_unless_gone):
                below = Path(folder).relative_to(self.root)
                found += [str(below / name) for name in names if not is_partial(name)]
            for name in sorted(found):
                with suppress(FileNotFoundError):  # taken away meanwhile
                    status = (self.root / name).stat()
                    yield Stored(name, status.st_size, status.st_mtime_ns // 1000)

    def folders(self, prefix: str) -> list[str]:
        """The names right below a prefix that are folders."""
        with self._told(prefix):
            try:
                return sorted(entry.name for entry in os.scandir(self.path(prefix)) if entry.is_dir())
            except (FileNotFoundError, NotADirectoryError):
                self._look_for_root()
                return []

    def remove(self, name: str) -> None:
        """Take an object away."""
        with self._told(name):
            self.path(name).unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        """Where an object is."""
        parts = name.rstrip("/").split("/") if name else []
        if any(part in ("", ".", "..") for part in parts):
            raise PlaceError(f"'{name}' is not the name of an object")
        return self.root.joinpath(*parts)

    def _put(self, name: str, content: bytes | BinaryIO) -> None:
        path = self.path(name)
        with self._told(name):
            self._look_for_root()  # one that is not mounted must not be made in its stead
            path.parent.mkdir(parents=True, exist_ok=True)
            self._sweep(path.parent)
            write_durably(path, content, mode=MODE)
            sync_folder(path.parent)  # before whoever sends it forgets it

    def _sweep(self, folder: Path) -> None:
        """Take away what a writer left who was killed, once for each folder."""
        if folder in self._swept:
            return
        self._swept.add(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):  # somebody else was quicker, or it is not ours
                    if is_partial(entry.name) and time.time() - entry.stat().st_mtime > LEFT_SECONDS:
                        Path(entry.path).unlink()

    def _look_for_root(self) -> None:
        if not self.root.is_dir():
            why = "is not a folder" if self.root.exists() else "is not there"
            raise PlaceError(f"{self.root} {why}", hint="make the folder, or mount it: we never do")

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{self.root}: {name}: {error.strerror or error}"
            raise PlaceError(what, hint="the folder must exist on this machine and be ours to use") from error


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
