"""The folder of the records of fixes: beside the store, for its owner alone.

Root acts on what is in it, and a store may belong to a service account, which could change or rename all that
lies inside. So the records are not inside, and they are read and written only through a folder whose owner,
mode and parents were checked while it was held open. Everything below is opened relative to that.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.errors import StoreError, UntrustedFolderError
from necroscope.sources.plain_files import read_plain
from necroscope.store.durable import make_folders, sync_folder, write_durably
from necroscope.store.trusted_folder import FOLDER, PRIVATE_MODE, open_private, open_trusted

SUFFIX = "-fixes"
FILE_MODE = 0o600
HINT = "--store names another place"


@dataclass(frozen=True, slots=True)
class RecordFolder:
    """An open folder that only this user can enter."""

    path: Path  # for messages; files are opened by the descriptor
    descriptor: int

    def folders(self) -> list[str]:
        """Return the sorted names of the folders in it; no links."""
        with os.scandir(self.descriptor) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))

    def has(self, name: str) -> bool:
        """Return whether anything of this name is there."""
        try:
            os.lstat(name, dir_fd=self.descriptor)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def inside(self, name: str) -> Iterator[RecordFolder]:
        """Open a folder in it. Raises OSError."""
        with self._named(name):
            descriptor = os.open(name, os.O_RDONLY | FOLDER, dir_fd=self.descriptor)
        try:
            with self._named(name):
                _refuse_foreign(os.fstat(descriptor))
            yield RecordFolder(self.path / name, descriptor)
        finally:
            os.close(descriptor)

    def read(self, name: str, most_bytes: int) -> bytes:
        """Return what is in a file. Raises OSError, also if it is too large, a pipe, or somebody else's."""
        with self._named(name):
            return read_plain(name, most_bytes, dir_fd=self.descriptor, owners=(os.geteuid(),))

    def open(self, name: str, flags: int) -> int:
        """Open a file to write to it, and return its descriptor. Raises OSError."""
        with self._named(name):
            flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            descriptor = os.open(name, flags, FILE_MODE, dir_fd=self.descriptor)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise OSError(errno.EINVAL, "not a regular file", name)
                _refuse_foreign(status)
            except OSError:
                os.close(descriptor)
                raise
        return descriptor

    def create(self, name: str, data: bytes) -> None:
        """Make a file that is not there yet, and make it durable. Raises OSError."""
        descriptor = self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with self._named(name), os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def write(self, name: str, data: bytes) -> None:
        """Write a file whole or not at all, and make it durable. Raises OSError."""
        with self._named(name):
            write_durably(Path(name), data, mode=FILE_MODE, dir_fd=self.descriptor)
        self.sync()

    def make(self, prefix: str) -> str:
        """Make a folder with a name that nobody can guess. Raises OSError."""
        name = f"{prefix}{secrets.token_hex(8)}"
        with self._named(name):
            os.mkdir(name, PRIVATE_MODE, dir_fd=self.descriptor)
        return name

    def rename(self, name: str, new_name: str) -> None:
        """Rename what is in it. Raises OSError."""
        with self._named(new_name):
            os.rename(name, new_name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a folder with all that is in it, as far as that is possible."""
        shutil.rmtree(name, ignore_errors=True, dir_fd=self.descriptor)

    def sync(self) -> None:
        """Make the names in it durable. Raises OSError."""
        os.fsync(self.descriptor)

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Have errors name the whole path."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path / name)) from None


def fixes_folder(store: Path) -> Path:
    """Return where the records of a store's fixes are, whatever name the store goes by."""
    try:
        resolved = store.resolve()
    except RuntimeError as error:  # a link that leads to itself
        raise StoreError(f"{store} leads nowhere: {error}", hint="--store names a folder") from error
    return resolved.parent / f"{resolved.name}{SUFFIX}"


@contextmanager
def opened_fixes(store: Path) -> Iterator[RecordFolder]:
    """Open the folder of the records. Raises OSError if it is not there, UntrustedFolderError."""
    path = fixes_folder(store)
    os.lstat(path)  # if it is not there, it does not matter who could make it
    with _opened(path) as folder:
        yield folder


def make_fixes_folder(store: Path) -> None:
    """Make the folder of the records if it is missing. Raises OSError, UntrustedFolderError."""
    path = fixes_folder(store)
    if store.exists() and not store.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(store))
    with _hinted():
        there = next(one for one in path.parents if one.is_dir())
        os.close(open_trusted(there))
        make_folders(path.parent)
    with _opened(path, make=True):
        sync_folder(path.parent)


@contextmanager
def _opened(path: Path, **how: Any) -> Iterator[RecordFolder]:
    with _hinted():
        descriptor = open_private(path, **how)
    try:
        yield RecordFolder(path, descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _hinted() -> Iterator[None]:
    """Say that another store would do."""
    try:
        yield
    except UntrustedFolderError as error:
        what = f"the records of fixes are not safe there: {error.what}"
        raise UntrustedFolderError(what, hint=f"{error.hint}; {HINT}") from error


def _refuse_foreign(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise OSError(errno.EPERM, f"belongs to uid {status.st_uid}")
