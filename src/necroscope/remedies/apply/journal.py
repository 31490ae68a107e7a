"""The journal of one fix: a line for all that happens, on disk before the next thing does.

    9d2f6a01 {"kind": "step-begun", "at_ns": 1792130760000000000, "step": 1, ...}

A line is a checksum and JSON. A power cut may tear the last one, which then has not happened; any other
damage is an error, and so is a line that has another form than ours.
"""

from __future__ import annotations

import enum
import errno
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from necroscope.errors import StoreError
from necroscope.model.fix import Fix, FixState, Progress, State, StepState
from necroscope.model.plan import Plan
from necroscope.remedies.apply.fixes_folder import RecordFolder

JOURNAL = "journal"
MAX_BYTES = 16 << 20  # one fix has some kilobytes; each further try adds less
MAX_TIME_NS = 2**63 - 1
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


OF_STEPS = frozenset(kind for kind in Happening if kind.value.startswith("step-"))
STEP_STATES = {
    Happening.STEP_BEGUN: StepState.BEGUN,
    Happening.STEP_DONE: StepState.DONE,
    Happening.STEP_FAILED: StepState.FAILED,
    Happening.STEP_UNDOING: StepState.UNDOING,
    Happening.STEP_NOT_UNDONE: StepState.UNDOING,
    Happening.STEP_UNDONE: StepState.UNDONE,
}
FIX_STATES = {
    Happening.BEGUN: FixState.UNFINISHED,
    Happening.CONTINUED: FixState.UNFINISHED,
    Happening.STEP_FAILED: FixState.FAILED,
    Happening.APPLIED: FixState.APPLIED,
    Happening.UNDO_BEGUN: FixState.UNDOING,
    Happening.UNDONE: FixState.UNDONE,
    Happening.UNDONE_IN_PART: FixState.UNDONE_IN_PART,
}
ENDS = (Happening.APPLIED, Happening.STEP_FAILED)  # of the steps; an undo has its own
UNDO_ENDS = (Happening.UNDONE, Happening.UNDONE_IN_PART)


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

    def __init__(self, folder: RecordFolder) -> None:
        self._path = folder.path / JOURNAL
        _, length = _read(folder)
        self._descriptor = folder.open(JOURNAL, os.O_WRONLY | os.O_APPEND)
        os.ftruncate(self._descriptor, length)  # what a crash tore would be damage before the next line

    def add(self, entry: Entry) -> None:
        """Append a line; it is on disk when this returns."""
        line = entry_line(entry)
        length = os.fstat(self._descriptor).st_size
        if length + len(line) > MAX_BYTES:  # we would not read it again
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(self._path))
        if os.write(self._descriptor, line) < len(line):  # the disk is full
            os.ftruncate(self._descriptor, length)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)


@contextmanager
def opened_journal(folder: RecordFolder) -> Iterator[Journal]:
    """The journal of a fix, to be written on."""
    journal = Journal(folder)
    try:
        yield journal
    finally:
        journal.close()


def read_entries(folder: RecordFolder) -> list[Entry]:
    """All whole lines of a fix's journal. Raises StoreError where it is damaged, OSError."""
    return _read(folder)[0]


def entry_line(entry: Entry) -> bytes:
    """An entry as a line of the file."""
    return _line(json.dumps({**asdict(entry), "kind": entry.kind.value}).encode())


def _read(folder: RecordFolder) -> tuple[list[Entry], int]:
    """The entries, and how many bytes they take."""
    entries: list[Entry] = []
    length = 0
    data = folder.read(JOURNAL, MAX_BYTES)
    for line in data.splitlines(keepends=True):
        if length + len(line) == len(data) and not line.endswith(b"\n"):
            break  # torn
        entry = _entry(line)
        if entry is None:
            hint = "restore it, or move the folder of this fix away once you know what it has changed"
            what = f"{folder.path / JOURNAL}: line {len(entries) + 1} is damaged"
            raise StoreError(what, hint=hint)
        entries.append(entry)
        length += len(line)
    return entries, length


def _entry(line: bytes) -> Entry | None:
    """The entry of a line; None where the line is not as it was written."""
    text = line[CHECKSUM_DIGITS + 1 : -1]
    if line != _line(text):
        return None
    try:
        document = json.loads(text)
        return Entry(**_checked(document))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of an entry. Raises one of several errors if one is not as we write it."""
    if document.keys() != {field.name for field in fields(Entry)}:
        raise ValueError("other fields")
    texts = [document[name] for name in ("who", "outcome", "plan_sha256")]
    numbers = [document[name] for name in ("at_ns", "step")]
    before = document["before"]
    texts += [text for state in before for row in state.items() for text in row]
    if not all(type(text) is str for text in texts) or not all(type(one) is int for one in numbers):
        raise TypeError("other types")
    if not all(0 <= number <= MAX_TIME_NS for number in numbers):
        raise ValueError("not a number of ours")
    kind = Happening(document["kind"])
    if (kind is Happening.STEP_LOOKED and len(before) != 1) or (kind in OF_STEPS) is not bool(numbers[1]):
        raise ValueError("not what happens to a step")
    return {**document, "kind": kind, "before": tuple(before)}


def _line(text: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(text), text)


def fix_from(id: str, plan: Plan, entries: Sequence[Entry]) -> Fix:
    """The fix after all its entries; the first of them is BEGUN. Raises ValueError, IndexError."""
    begun = entries[0]
    waiting = [Progress(StepState.WAITING, before, "", 0) for before in begun.before]
    if len(waiting) != len(plan.steps):
        raise ValueError("the journal and the plan have different steps")
    fix = Fix(id, FixState.UNFINISHED, begun.who, begun.at_ns, 0, plan, tuple(waiting))
    for entry in entries:
        fix = with_entry(fix, entry)
    return fix


def with_entry(fix: Fix, entry: Entry) -> Fix:
    """The fix after one more entry."""
    if entry.step:
        progress = list(fix.progress)
        progress[entry.step - 1] = _with_step(progress[entry.step - 1], entry)
        fix = replace(fix, progress=tuple(progress))
    if entry.kind in UNDO_ENDS:
        fix = replace(fix, not_as_before=entry.outcome)
    if entry.kind in ENDS:
        fix = replace(fix, ended_ns=entry.at_ns)
    if entry.kind is Happening.CONTINUED:
        fix = replace(fix, ended_ns=0)
    return replace(fix, state=FIX_STATES.get(entry.kind, fix.state))


def _with_step(progress: Progress, entry: Entry) -> Progress:
    if entry.kind is Happening.STEP_LOOKED:
        return replace(progress, before=entry.before[0])
    return replace(progress, state=STEP_STATES[entry.kind], outcome=entry.outcome, at_ns=entry.at_ns)
