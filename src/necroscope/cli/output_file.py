"""`-o FILE`, which never overwrites without `-f`."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path

from necroscope.errors import UsageError
from necroscope.store.durable import write_durably, write_new

# Only root makes names there: /dev/stdout is a link, which must be followed and never replaced.
OF_OURS = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
USUAL_MODE, PROGRAM_MODE = 0o666, 0o777  # without what the user's umask takes away


def add_output(parser: argparse.ArgumentParser, help_text: str) -> None:
    """The words -o and -f."""
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help=help_text)
    parser.add_argument("-f", "--force", action="store_true", help="overwrite the file")


def refuse_existing(arguments: argparse.Namespace) -> None:
    """Say so before a long look, and not after it."""
    if arguments.output and not arguments.force and arguments.output.exists():
        raise UsageError(f"{arguments.output} exists", hint="-f overwrites it")


def write_output(path: Path, data: bytes, *, force: bool, is_program: bool = False) -> None:
    """Write a new file, or with `force` in place of an old one. A pipe or a device is only written to."""
    mode = PROGRAM_MODE if is_program else USUAL_MODE
    try:
        if not force:
            write_new(path, data, mode)
        elif path.parent in OF_OURS or _is_special(path):
            _write_to(path, data)
        else:
            write_durably(path, data, mode=mode, use_umask=True)
    except FileExistsError as error:
        raise UsageError(f"{path} exists", hint="-f overwrites it") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _write_to(path: Path, data: bytes) -> None:
    """Write to a pipe or a device. Refuse one of another user: it could block us, and is not ours to fill."""
    if path.parent not in OF_OURS and path.lstat().st_uid not in (0, os.geteuid()):
        raise UsageError(f"{path} belongs to another user", hint="name another file")
    with os.fdopen(os.open(path, os.O_WRONLY | _no_links(path)), "wb") as file:
        file.write(data)


def _is_special(path: Path) -> bool:
    """Whether there is a pipe, a device or a socket, and not a link to one."""
    try:
        return not (stat.S_ISREG(mode := path.lstat().st_mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
    except OSError:
        return False


def _no_links(path: Path) -> int:
    """Return what keeps a link from being followed that was laid since we looked; nobody can in /dev."""
    return 0 if path.parent in OF_OURS else os.O_NOFOLLOW
