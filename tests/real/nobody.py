"""Life without root: a command as an unprivileged user runs it, and a folder of that user's."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
# Python may live in root's home, which is closed to others: open it, in a mount namespace of its own.
OPEN_PYTHON = """set -e
mount --bind "$1" "$0"
mount -t tmpfs -o mode=755 none "$2"
mkdir -p "$1"
mount --bind "$0" "$1"
shift 2
exec "$@"
"""


def as_nobody(home: Path) -> tuple[str, ...]:
    """What to put before a command so that an unprivileged user runs it."""
    lower = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    python = Path(sys.base_prefix)
    closed = [folder for folder in reversed(python.parents) if not folder.stat().st_mode & stat.S_IXOTH]
    if not closed:
        return lower
    return ("unshare", "--mount", "sh", "-c", OPEN_PYTHON, str(home), str(python), str(closed[0]), *lower)


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """A folder of that user's, with one named `python` in it for `as_nobody`."""
    folder = Path(tempfile.mkdtemp(prefix="necroscope-nobody-", dir="/var/tmp"))
    try:
        (folder / "python").mkdir()
        os.chown(folder, NOBODY, NOBODY)
        yield folder
    finally:
        shutil.rmtree(folder)
