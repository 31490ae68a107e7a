"""The journal of one fix: a line for all that happens, on disk before the next thing does.

    9d2f6a01 {"kind": "step-begun", "at_ns": 1792130760000000000, "step": 1, ...}

A line is a checksum and JSON. A power cut may tear the last one, which then has not happened; any other
damage is an error.
"""

from __future__ import annotations

import enum
import errno
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from necroscope.errors import StoreError
from necroscope.model.fix import State

JOURNAL = "journal"
CHECKSUM_DIGITS = 8


class Happening(enum.Enum):
    """What happened."""

    BEGUN = "begun"
    CONTINUED = "continued"
    STEP_LOOKED = "step-looked"  # what it will change, looked at again before it goes on
    STEP_BEGUN = "step-begun"
    STEP_DONE = "step-done"
    STEP_FAILED = "step-failed"
    APPLIED = "applied"
    UNDO_BEGUN = "undo-begun"
    STEP_UNDOING = "step-undoing"
    STEP_UNDONE = "step-undone"
    STEP_NOT_UNDONE = "step-not-undone"
    UNDONE = "undone"
    UNDONE_IN_PART = "undone-in-part"
    INTERRUPTED = "interrupted"  # by Ctrl-C: what was begun stays as it is


@dataclass(frozen=True, slots=True)
class Entry:
    """One line."""

    kind: Happening
    at_ns: int  # UTC
    who: str
    step: int = 0  # from 1 on; 0: of the fix as a whole
    outcome: str = ""
    before: tuple[
        State, ...
    ] = ()  # of BEGUN: what each step will change, as it was; of STEP_LOOKED: this one
    plan_sha256: str = ""  # of BEGUN


class Journal:
    """An open journal. One process at a time writes it: see lock.py."""

    def __init__(self, path: Path) -> None:
        self._path = path
        _, length = _read(path)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        os.ftruncate(self._descriptor, length)  # what a crash tore would be damage before the next line

    def add(self, entry: Entry) -> None:
        """Append a line; it is on disk when this returns."""
        line = entry_line(entry)
        length = os.fstat(self._descriptor).st_size
        if os.write(self._descriptor, line) < len(line):  # the disk is full
            os.ftruncate(self._descriptor, length)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)


@contextmanager
def opened_journal(folder: Path) -> Iterator[Journal]:
    """The journal of a fix, to be written on."""
    journal = Journal(folder / JOURNAL)
    try:
        yield journal
    finally:
        journal.close()


def read_entries(folder: Path) -> list[Entry]:
    """All whole lines of a fix's journal. Raises StoreError where it is damaged, OSError."""
    return _read(folder / JOURNAL)[0]


def entry_line(entry: Entry) -> bytes:
    """An entry as a line of the file."""
    return _line(json.dumps({**asdict(entry), "kind": entry.kind.value}).encode())


def _read(path: Path) -> tuple[list[Entry], int]:
    """The entries, and how many bytes they take."""
    entries: list[Entry] = []
    length = 0
    data = path.read_bytes()
    for line in data.splitlines(keepends=True):
        if length + len(line) == len(data) and not line.endswith(b"\n"):
            break  # torn
        entry = _entry(line)
        if entry is None:
            hint = "restore it, or move the folder of this fix away once you know what it has changed"
            raise StoreError(f"{path}: line {len(entries) + 1} is damaged", hint=hint)
        entries.append(entry)
        length += len(line)
    return entries, length


def _entry(line: bytes) -> Entry | None:
    """The entry of a line; None where the line is not as it was written."""
    text = line[CHECKSUM_DIGITS + 1 : -1]
    if line != _line(text):
        return None
    document: dict[str, Any] = json.loads(text)
    before = tuple(document.pop("before"))
    return Entry(**{**document, "kind": Happening(document["kind"]), "before": before})


def _line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)
