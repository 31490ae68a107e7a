"""A folder as a place: for one machine, or a file system that all hosts share.

The folder itself must be there: one that is not mounted is an error, and never made in its stead. Below it,
no link is followed, since whoever else may write there could lead us elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from necroscope.errors import PlaceError
from necroscope.fleet.place.place import MAX_OBJECT_BYTES, BadObjectError, Stored
from necroscope.sources.plain_files import AtMost, open_plain, read_plain
from necroscope.store.durable import is_partial, make_folders, write_durably

MODE = 0o644  # who may enter the folder decides
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LEFT_SECONDS = 3600.0  # what is older than this is not being written any more
ABSENT = (FileNotFoundError, NotADirectoryError)
BAD_OBJECT = (errno.EFBIG, errno.ELOOP, errno.EINVAL)  # too large; a link; a pipe or a device
MAX_DEPTH = 8  # of folders below a prefix: ours have 3; each takes a descriptor while it is listed


class FolderPlace:
    """Objects are files. A name that would lead out of the folder is an error."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.address = str(root)
        self._swept: set[str] = set()

    def read(self, name: str, max_bytes: int = MAX_OBJECT_BYTES) -> bytes | None:
        """Return what an object holds, or None if there is none. PlaceError if it holds more."""
        with self._translate_errors(name):
            try:
                with self._folder_of(name) as (folder, base):
                    return read_plain(base, max_bytes, dir_fd=folder)
            except (*ABSENT, IsADirectoryError):
                self._look_for_root()
                return None

    def write(self, name: str, content: bytes) -> None:
        """Put an object there, all of it or nothing."""
        self._put(name, content)

    def write_file(self, name: str, path: Path) -> None:
        """Put an object there with the content of a file."""
        with os.fdopen(open_plain(path), "rb") as file:
            self._put(name, file)

    def fetch(self, name: str, path: Path, max_bytes: int) -> bool:
        """Copy an object to a file; False if there is none. PlaceError if it holds more."""
        with self._translate_errors(name):
            try:
                with self._folder_of(name) as (folder, base):
                    file = os.fdopen(open_plain(base, dir_fd=folder), "rb")
            except ABSENT:
                self._look_for_root()
                return False
            with file:
                make_folders(path.parent)
                write_durably(path, AtMost(file, max_bytes))
        return True

    def size(self, name: str) -> int | None:
        """Return how large an object is, or None if there is none."""
        with self._translate_errors(name):
            try:
                with self._folder_of(name) as (folder, base):
                    status = os.lstat(base, dir_fd=folder)
            except ABSENT:
                self._look_for_root()
                return None
            return status.st_size if stat.S_ISREG(status.st_mode) else None

    def below(self, prefix: str) -> Iterator[Stored]:
        """All objects below a prefix, in the order of their names."""
        with self._translate_errors(prefix):
            self._look_for_root()
            found: list[Stored] = []
            with suppress(*ABSENT), self._inside(prefix) as top:
                for folder, inner, names, descriptor in os.fwalk(".", onerror=_unless_gone, dir_fd=top):
                    if folder.count("/") >= MAX_DEPTH:
                        inner.clear()
                    for name in names:
                        with suppress(FileNotFoundError):  # removed meanwhile
                            status = os.lstat(name, dir_fd=descriptor)
                            if stat.S_ISREG(status.st_mode) and not is_partial(name):
                                whole = os.path.normpath(f"{prefix}/{folder}/{name}").lstrip("/")
                                found.append(Stored(whole, status.st_size, status.st_mtime_ns // 1000))
            yield from sorted(found, key=lambda one: one.name)

    def folders(self, prefix: str) -> list[str]:
        """Return the names right below a prefix that are folders."""
        with self._translate_errors(prefix):
            try:
                with self._inside(prefix) as folder, os.scandir(folder) as entries:
                    return sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))
            except ABSENT:
                self._look_for_root()
                return []

    def remove(self, name: str) -> None:
        """Remove an object."""
        with self._translate_errors(name), suppress(*ABSENT), self._folder_of(name) as (folder, base):
            os.unlink(base, dir_fd=folder)

    def _put(self, name: str, content: bytes | BinaryIO) -> None:
        with self._translate_errors(name):
            self._look_for_root()  # one that is not mounted must not be made in its stead
            with self._folder_of(name, make=True) as (folder, base):
                self._sweep(name, folder)
                write_durably(Path(base), content, mode=MODE, dir_fd=folder)
                os.fsync(folder)  # before whoever sends it forgets it

    @contextmanager
    def _folder_of(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that an object is in; its own name there comes with it."""
        *above, base = _parts(name)
        folder = os.open(self.root, FOLDER & ~os.O_NOFOLLOW)
        try:
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                try:
                    inner = os.open(part, FOLDER, dir_fd=folder)
                except NotADirectoryError:
                    if stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode):
                        raise OSError(errno.ELOOP, f"'{part}' is a link, which we do not follow") from None
                    raise
                os.close(folder)
                folder = inner
            yield folder, base
        finally:
            os.close(folder)

    @contextmanager
    def _inside(self, prefix: str) -> Iterator[int]:
        with self._folder_of(f"{prefix.rstrip('/')}/object".lstrip("/")) as (folder, _):
            yield folder

    def _sweep(self, name: str, folder: int) -> None:
        """Remove what a writer left who was killed, once for each folder."""
        place = name.rpartition("/")[0]
        if place in self._swept:
            return
        self._swept.add(place)
        for other in os.listdir(folder):
            with suppress(OSError):  # somebody else was quicker, or it is not ours
                if is_partial(other):
                    status = os.lstat(other, dir_fd=folder)
                    if time.time() - status.st_mtime > LEFT_SECONDS:
                        os.unlink(other, dir_fd=folder)

    def _look_for_root(self) -> None:
        if not self.root.is_dir():
            why = "is not a folder" if self.root.exists() else "is not there"
            raise PlaceError(f"{self.root} {why}", hint="make the folder, or mount it: we never do")

    @contextmanager
    def _translate_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"{self.root}: {name}: {error.strerror or error}"
            kind = BadObjectError if error.errno in BAD_OBJECT else PlaceError
            raise kind(what, hint="the folder must exist on this machine and be ours to use") from error


def _parts(name: str) -> list[str]:
    parts = name.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise PlaceError(f"'{name}' is not the name of an object")
    return parts


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, ABSENT):
        raise error
