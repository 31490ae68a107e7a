"""Folders in which only root and this user can put anything, or put something else in their place.

Root must not write below a folder that another user owns: its owner can rename what is in it and lay links,
between any check and the use of what was checked. Hence all folders on the way count, not only the last.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from necroscope.errors import UntrustedFolderError
from necroscope.model.shell_command import shell_command
from necroscope.store.durable import make_folders

FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
PRIVATE_MODE = 0o700
MAX_LINKS = 40  # as many as the kernel follows


def open_trusted(path: Path, *, root: Path = Path("/"), owners: Collection[int] = ()) -> int:
    """Open a folder that others cannot change: to open what is in it, not to read or sync it.

    Links on the way are followed if nobody else can lead them elsewhere. Below another root than "/" there
    may be none, and these `owners` are trusted, too: a container has a root of its own. Raises
    UntrustedFolderError if others could change it, and OSError.
    """
    place = root
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # may be /proc/PID/root, a link
    ahead = list(reversed((path.absolute() if root == Path("/") else path).relative_to(root).parts))
    links = 0
    try:
        _refuse_others(place, os.fstat(folder), owners)
        while ahead:
            name = ahead.pop()
            place = place.parent if name == ".." else place / name
            if root == Path("/") and (target := _link_of_ours(place, name, folder)):
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                ahead += reversed([part for part in target.split("/") if part not in ("", ".")])
                place = root if target.startswith("/") else place.parent
                inner = os.open(root if target.startswith("/") else ".", os.O_PATH | FOLDER, dir_fd=folder)
            else:
                inner = os.open(name, os.O_PATH | FOLDER, dir_fd=folder)
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


def _link_of_ours(place: Path, name: str, folder: int) -> str:
    """Return where a link leads; empty if it is not a link. Raises UntrustedFolderError, OSError."""
    status = os.lstat(name, dir_fd=folder)
    if not stat.S_ISLNK(status.st_mode):
        return ""
    if status.st_uid not in (0, os.geteuid()):
        what = f"{place} is a link of {name_of_user(status.st_uid)}, who could lead it elsewhere"
        raise UntrustedFolderError(what, hint="use the folder that it leads to, or run it as that user")
    return os.readlink(name, dir_fd=folder)


def open_folder_of(path: Path) -> int:
    """Open the folder of a file that another user's program reads: the folder may be that user's.

    As root, raise UntrustedFolderError if anybody else could change it or the way to it, or if that user has
    laid a link on the way. Raises OSError.
    """
    if os.geteuid():  # who is not root can only harm themselves
        return os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return open_trusted(path.parent, owners=(path.parent.stat().st_uid,))


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
        there = next(one for one in [path.absolute(), *path.absolute().parents] if os.path.lexists(one))
        os.close(open_trusted(there))


def make_trusted(path: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner and group only.

    As root, raise UntrustedFolderError if others could change it or the way to it. Raises OSError.
    """
    refuse_untrusted(path)
    make_folders(path)
    refuse_untrusted(path)  # in /tmp somebody else may have made it just before us


def _refuse_others(place: Path, status: os.stat_result, owners: Collection[int] = ()) -> None:
    if status.st_uid not in (0, os.geteuid(), *owners):
        what = f"{place} belongs to {name_of_user(status.st_uid)}, who could replace what is in it"
        raise UntrustedFolderError(
            what, hint="use a folder that only root can change, or run it as that user"
        )
    if why_writable(status) and not status.st_mode & stat.S_ISVTX:
        what = f"others may write to {place} (mode {stat.S_IMODE(status.st_mode):04o})"
        hint = f"use another folder, or run: {shell_command(['chmod', 'go-w'], [str(place)])}"
        raise UntrustedFolderError(what, hint=hint)


def why_writable(status: os.stat_result) -> str:
    """Return why others than its owner could write to a file or folder; empty if they could not.

    Whatever the group is: with an access control list, its bits stand for everybody in the list.
    """
    mode = stat.S_IMODE(status.st_mode)
    others = stat.S_IWOTH | (0 if _is_of_own_group(status) else stat.S_IWGRP)
    return f"mode {mode:04o}: others could write to it" if mode & others else ""


def _is_of_own_group(status: os.stat_result) -> bool:
    """Return whether a file is ours, we are not root, and its group is ours alone, with our name."""
    if os.geteuid() == 0 or status.st_uid != os.geteuid():
        return False
    try:
        user, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _refuse_not_private(place: Path, status: os.stat_result, owners: Collection[int]) -> None:
    if status.st_uid not in owners:
        what = f"{place} belongs to {name_of_user(status.st_uid)}, and not to {name_of_user(os.geteuid())}"
        raise UntrustedFolderError(what, hint="its owner may have changed what is in it: move it away")
    if (mode := stat.S_IMODE(status.st_mode)) & ~PRIVATE_MODE & 0o777:
        what = f"others may enter {place}, or could (mode {mode:04o})"
        hint = f"if nobody has changed anything in it: {shell_command(['chmod', '0700'], [str(place)])}"
        raise UntrustedFolderError(what, hint=hint)


def name_of_user(uid: int) -> str:
    """Return the name of a user, or the number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
