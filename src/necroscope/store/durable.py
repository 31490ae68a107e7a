"""The one way to write a file: a new one, which no link can lead elsewhere, renamed into place.

Whoever may write to the folder could have planted a link or a file under any name that can be guessed. So
the new file gets a random name, is opened with O_EXCL and O_NOFOLLOW below a folder that is held open, and
takes the place of the old one only when it is complete: what is there is whole, or not there at all.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import SupportsRead

FILE_MODE = 0o640  # kernel addresses and the kernel log are not for every user
FOLDER_MODE = 0o750
PARTIAL = ".partial"
COPY_BYTES = 1 << 20
STALE_SECONDS = 600.0  # then whoever wrote it was killed
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_durably(  # noqa: PLR0913 - all but the first two are named
    path: Path,
    data: bytes | SupportsRead[bytes],
    *,
    mode: int = FILE_MODE,
    use_umask: bool = False,
    owner: tuple[int, int] | None = None,
    sync: bool = True,
    dir_fd: int | None = None,
) -> None:
    """Write bytes, or what is left of an open file, whole or not at all. Raises OSError.

    With `use_umask`, the user's umask takes bits of the mode away. The folder is not synced: see
    `sync_folder`. Without `sync`, a power cut may leave an empty file.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    except OSError as error:
        raise _about(path, error) from None
    try:
        _remove_partials(folder, path.name, time.time() - STALE_SECONDS)
        partial = f".{path.name}.{os.urandom(8).hex()}{PARTIAL}"
        try:
            descriptor = os.open(partial, NEW, mode if use_umask else 0o600, dir_fd=folder)
            with os.fdopen(descriptor, "wb") as file:
                if owner is not None:
                    os.fchown(descriptor, *owner)
                if not use_umask:  # after the owner, since a new owner clears the bits that give rights
                    os.fchmod(descriptor, mode)
                if isinstance(data, bytes):
                    file.write(data)
                else:
                    shutil.copyfileobj(data, file, COPY_BYTES)
                file.flush()
                if sync:
                    os.fsync(descriptor)
            os.rename(partial, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):  # a full disk has better use for the room
                os.unlink(partial, dir_fd=folder)
            raise
    except OSError as error:
        raise _about(path, error) from None
    finally:
        os.close(folder)


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file that must not exist yet; the user's umask takes bits of the mode away. Raises OSError."""
    with os.fdopen(os.open(path, NEW, mode), "wb") as file:
        file.write(data)


def make_folders(path: Path) -> None:
    """Make a folder and those above it that are missing, for its owner and group only. Raises OSError."""
    missing = [path, *path.parents]
    for folder in reversed(missing[: next(n for n, one in enumerate(missing) if one.is_dir())]):
        with suppress(FileExistsError):  # somebody was quicker
            folder.mkdir(mode=FOLDER_MODE)
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is not a folder")


def remove_partials(path: Path) -> None:
    """Remove what was left of this file by those who were killed while they wrote it. Raises OSError."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _remove_partials(folder, path.name, time.time())
    finally:
        os.close(folder)


def is_partial(name: str) -> bool:
    """Whether a file is being written, or was when its writer was killed."""
    return name.startswith(".") and name.endswith(PARTIAL)


def _remove_partials(folder: int, name: str, until: float) -> None:
    for other in os.listdir(folder):
        if other.startswith(f".{name}.") and is_partial(other):
            with suppress(OSError):  # somebody else was quicker, or it is a folder and not ours
                if os.lstat(other, dir_fd=folder).st_mtime < until:
                    os.unlink(other, dir_fd=folder)


def _about(path: Path, error: OSError) -> OSError:
    """Return the error with the name of the file, not the random one."""
    return type(error)(error.errno, error.strerror, str(path))


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    _sync(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_tree(folder: Path) -> None:
    """Make all files below a folder durable, and their names."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            continue
        if path.is_dir():
            sync_folder(path)
        elif path.is_file():
            sync_file(path)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
