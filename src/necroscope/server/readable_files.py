"""Looks at a segment before it is opened: what is no file could hold a thread of ours for ever.

To open a pipe waits for somebody who writes into it, and a device may have no end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from necroscope.store.segment_damage import damaged_segment
from necroscope.store.store import DESCRIPTION

LARGEST_DESCRIPTION_BYTES = 16 << 20  # thousands of times what a recorder writes


def require_files(folder: Path) -> None:
    """StoreError where a part of a segment is neither a file nor a folder, or its description is too large.

    What may not be looked at is left to those who read it: they say why.
    """
    for path, mode in _modes(folder):
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise damaged_segment(f"{path}: not a file")
    with suppress(OSError):
        if (folder / DESCRIPTION).stat().st_size > LARGEST_DESCRIPTION_BYTES:
            raise damaged_segment(f"{folder / DESCRIPTION}: too large")


def _modes(folder: Path) -> Iterator[tuple[str, int]]:
    """Everything in a segment, and in the folders of its counters and samples; links are followed."""
    for entry in _entries(folder):
        mode = _mode(entry)
        yield entry.path, mode
        if stat.S_ISDIR(mode):
            yield from ((inner.path, _mode(inner)) for inner in _entries(entry.path))


def _mode(entry: os.DirEntry[str]) -> int:
    """What it is. Most systems tell that with the name: no question for each file."""
    try:
        if entry.is_file(follow_symlinks=False):
            return stat.S_IFREG
        return entry.stat().st_mode
    except OSError:
        return stat.S_IFREG


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
