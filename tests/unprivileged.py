"""Life without root: a command as an unprivileged user runs it, and a folder of that user's.

Python and this checkout may lie in a folder that others cannot enter, such as root's home. The user then sees
them through one that they can, in a mount namespace of the command's own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534
CHECKOUT = Path(__file__).parents[1]
needs_setpriv = pytest.mark.skipif(
    os.geteuid() == 0 and not (shutil.which("setpriv") and shutil.which("unshare")),
    reason="needs setpriv and unshare (util-linux)",
)


def as_nobody() -> tuple[str, ...]:
    """Return what to put before a command so that an unprivileged user runs it: nothing if we are one."""
    if os.geteuid() != 0:
        return ()
    lower = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    needed = [Path(sys.base_prefix), Path(sys.prefix), CHECKOUT]
    closed = {closed: None for folder in needed if (closed := _closed_parent(folder))}
    if not closed:
        return lower
    hidden = [folder for folder in needed if any(folder.is_relative_to(one) for one in closed)]
    return ("unshare", "--mount", "sh", "-c", _show(hidden, list(closed)), "sh", *lower)


def _closed_parent(folder: Path) -> Path | None:
    """Return the outermost folder on the way that others cannot enter."""
    parents = reversed([folder, *folder.parents])
    return next((one for one in parents if not one.stat().st_mode & stat.S_IXOTH), None)


def _show(folders: Sequence[Path], closed: Sequence[Path]) -> str:
    """Return a script that replaces closed folders by empty ones with nothing but some folders in them."""
    numbered = [(number, shlex.quote(str(folder))) for number, folder in enumerate(folders, 3)]
    lines = [f"exec {number}<{folder}" for number, folder in numbered]
    lines += [f"mount -n -t tmpfs -o mode=755 lab {shlex.quote(str(one))}" for one in closed]
    for number, folder in numbered:
        lines.append(f"mkdir -p {folder}")
        lines.append(f"mount -n --no-canonicalize --bind /proc/self/fd/{number} {folder}")
        lines.append(f"exec {number}<&-")
    return "\n".join(["set -e", *lines, 'exec "$@"'])


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """Make a folder that this user may write to."""
    folder = Path(tempfile.mkdtemp(prefix="necroscope-nobody-", dir="/var/tmp"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield folder
    finally:
        shutil.rmtree(folder)
