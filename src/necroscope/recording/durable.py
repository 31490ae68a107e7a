"""Files that survive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_durably(
    path: Path, data: bytes, *, mode: int | None = None, owner: tuple[int, int] | None = None
) -> None:
    """A file that is there whole or not at all, whatever happens; with a mode and an owner where told."""
    partial = partial_of(path)
    try:
        with partial.open("wb") as file:
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            if mode is not None:  # after the owner, since a new owner clears the bits that give rights
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        with suppress(OSError):  # a full disk has better use for the room
            partial.unlink()
        raise


def partial_of(path: Path) -> Path:
    """What a file is called while it is written. A crash leaves it behind."""
    return path.with_name(f".{path.name}.partial")


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    _sync(path, os.O_RDONLY)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_tree(folder: Path) -> None:
    """Make all files below a folder durable, and their names."""
    for path in folder.rglob("*"):
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
