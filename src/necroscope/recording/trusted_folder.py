"""Folders in which only root and this user can put anything, or put something else in their place.

Root must not write below a folder that another user owns: its owner can rename what is in it and lay links,
between any check and the use of what was checked. Hence all folders on the way count, not only the last.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from necroscope.errors import UntrustedFolderError
from necroscope.model.shell_command import shell_command

FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PRIVATE_MODE = 0o700


def open_trusted(path: Path, *, root: Path = Path("/"), owners: Collection[int] = ()) -> int:
    """Open a folder that others cannot change: to open what is in it, not to read or sync it.

    Below another root than "/", the path must be one without links, and these `owners` are trusted, too: a
    container has a root of its own. Raises UntrustedFolderError if others could change it, and OSError.
    """
    place = root
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # may be /proc/PID/root, a link
    try:
        _refuse_others(place, os.fstat(folder), owners)
        for place in _below(root, path):
            inner = os.open(place.name, os.O_PATH | FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
            _refuse_others(place, os.fstat(folder), owners)
    except OSError as error:
        os.close(folder)
        raise OSError(error.errno, error.strerror, str(place)) from None
    except BaseException:
        os.close(folder)
        raise
    return folder


def open_private(
    path: Path, *, make: bool = False, root: Path = Path("/"), owners: Collection[int] = ()
) -> int:
    """Open a folder that nobody but this user, or one of `owners`, can enter or change.

    With `make` it is made if it is missing; what is above it must be there. Raises like `open_trusted`.
    """
    parent = open_trusted(path.parent, root=root, owners=owners)
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(path.name, PRIVATE_MODE, dir_fd=parent)
        status = os.lstat(path.name, dir_fd=parent)
        if not stat.S_ISDIR(status.st_mode):
            kind = "a link" if stat.S_ISLNK(status.st_mode) else "a file"
            raise UntrustedFolderError(f"{path} is {kind}, not a folder", hint="move it away")
        folder = os.open(path.name, os.O_RDONLY | FOLDER, dir_fd=parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(parent)
    try:
        _refuse_not_private(path, os.fstat(folder), (os.geteuid(), *owners))
    except BaseException:
        os.close(folder)
        raise
    return folder


def refuse_untrusted(path: Path) -> None:
    """As root, raise UntrustedFolderError if others could change a folder, or what is there of the way to it.

    Any other user can only harm themselves. Raises OSError.
    """
    if os.geteuid() == 0:
        there = next(one for one in [path.absolute(), *path.absolute().parents] if one.exists())
        os.close(open_trusted(there))


def warning_about(store: Path) -> str:
    """Return what to say about a store of root's that every user can read; empty if nothing."""
    try:
        status = store.stat()
    except OSError:
        return ""
    if os.geteuid() or status.st_uid or not status.st_mode & (stat.S_IROTH | stat.S_IXOTH):
        return ""
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    why = "a recording has kernel addresses and the kernel log"
    command = shell_command(["chmod", "-R", "o="], [str(store)])
    return f"every user can read {store} (mode {mode}), and {why}: {command}"


def _below(root: Path, path: Path) -> Iterator[Path]:
    place = root
    for part in (path.resolve() if root == Path("/") else path).relative_to(root).parts:
        place /= part
        yield place


def _refuse_others(place: Path, status: os.stat_result, owners: Collection[int] = ()) -> None:
    if status.st_uid not in (0, os.geteuid(), *owners):
        what = f"{place} belongs to {name_of_user(status.st_uid)}, who could replace what is in it"
        raise UntrustedFolderError(
            what, hint="use a folder that only root can change, or run it as that user"
        )
    others = stat.S_IWOTH | (stat.S_IWGRP if status.st_gid else 0)
    if status.st_mode & others and not status.st_mode & stat.S_ISVTX:
        what = f"others may write to {place} (mode {stat.S_IMODE(status.st_mode):04o})"
        hint = f"use another folder, or run: {shell_command(['chmod', 'go-w'], [str(place)])}"
        raise UntrustedFolderError(what, hint=hint)


def _refuse_not_private(place: Path, status: os.stat_result, owners: Collection[int]) -> None:
    if status.st_uid not in owners:
        what = f"{place} belongs to {name_of_user(status.st_uid)}, and not to {name_of_user(os.geteuid())}"
        raise UntrustedFolderError(what, hint="its owner may have changed what is in it: move it away")
    if (mode := stat.S_IMODE(status.st_mode)) != PRIVATE_MODE:
        what = f"others may enter {place}, or could (mode {mode:04o})"
        hint = f"if nobody has changed anything in it: {shell_command(['chmod', '0700'], [str(place)])}"
        raise UntrustedFolderError(what, hint=hint)


def name_of_user(uid: int) -> str:
    """Return the name of a user, or the number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
