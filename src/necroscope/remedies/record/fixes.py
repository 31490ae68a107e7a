"""Fixes on disk: `<store>/.fixes/<UTC time>-<remedy>/`, each with its plan and its journal.

A fix gets its name when its plan and the state before it are on disk, which is before its first step: what
has no name has changed nothing.
"""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from necroscope.errors import NecroscopeError, PlanError, StoreError, UsageError
from necroscope.model.fix import Fix
from necroscope.model.plan import Plan
from necroscope.recording.durable import sync_folder, write_durably
from necroscope.recording.store_place import not_permitted
from necroscope.remedies.planning.plan_document import parse_plan, plan_text
from necroscope.remedies.record.history import fix_from
from necroscope.remedies.record.journal import JOURNAL, Entry, Happening, entry_line, read_entries

FOLDER = ".fixes"
PLAN = "plan.json"
MAKING = ".making-"
MOST_OF_ONE_SECOND = 1000


@dataclass(frozen=True, slots=True)
class DamagedFix:
    """A fix whose record cannot be read, and the error that says why."""

    folder: Path
    error: NecroscopeError


@dataclass(frozen=True, slots=True)
class Fixes:
    """All fixes of a store, the oldest first."""

    fixes: tuple[Fix, ...] = ()
    damaged: tuple[DamagedFix, ...] = ()


def fixes_folder(store: Path) -> Path:
    """Where the fixes of a store are."""
    return store / FOLDER


def read_fixes(store: Path) -> Fixes:
    """All fixes. Raises CannotLookError where this user may not read them."""
    try:
        with os.scandir(fixes_folder(store)) as entries:
            folders = [Path(entry.path) for entry in entries if entry.is_dir() and entry.name[0] != "."]
    except (FileNotFoundError, NotADirectoryError):
        return Fixes()
    except PermissionError as error:
        raise not_permitted(fixes_folder(store)) from error
    fixes, damaged = [], []
    for folder in sorted(folders):
        try:
            fixes.append(read_fix(folder))
        except StoreError as error:
            damaged.append(DamagedFix(folder, error))
    return Fixes(tuple(sorted(fixes, key=lambda fix: (fix.begun_ns, fix.id))), tuple(damaged))


def find_fix(store: Path, id: str) -> Fix:
    """One fix by its id. Raises UsageError where there is none, StoreError where it is damaged."""
    known = read_fixes(store)
    for fix in known.fixes:
        if fix.id == id:
            return fix
    for damaged in known.damaged:
        if damaged.folder.name == id:
            raise damaged.error
    near = difflib.get_close_matches(id, [fix.id for fix in known.fixes], n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else "`necroscope fix --list` shows what there is"
    raise UsageError(f"there is no fix '{id}' in {store}", hint=hint)


def read_fix(folder: Path) -> Fix:
    """A fix from its folder. Raises StoreError, which names the file."""
    try:
        data = (folder / PLAN).read_bytes()
        entries = read_entries(folder)
        if not entries or entries[0].kind is not Happening.BEGUN:
            raise StoreError(f"{folder / JOURNAL} does not begin with the state before the fix")
        if sha256(data).hexdigest() != entries[0].plan_sha256:
            raise StoreError(f"{folder / PLAN} is not the plan that was carried out")
        return fix_from(folder.name, parse_plan(data), entries)
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error
    except (PlanError, ValueError, KeyError, TypeError, IndexError) as error:
        raise StoreError(
            f"{folder}: {error}", hint="another version of necroscope may have made it"
        ) from error


def create_fix(store: Path, plan: Plan, begun: Entry) -> Path:
    """The folder of a new fix, with its plan and its first entry on disk. Raises OSError."""
    parent = fixes_folder(store)
    remove_unnamed(store)
    making = Path(tempfile.mkdtemp(prefix=MAKING, dir=parent))  # for us alone, as all below it
    try:
        write_durably(making / PLAN, plan_text(plan).encode())
        write_durably(making / JOURNAL, entry_line(begun))
        sync_folder(making)
        folder = _named(making, plan, begun.at_ns)
        sync_folder(parent)
        return folder
    finally:
        shutil.rmtree(making, ignore_errors=True)


def plan_checksum(plan: Plan) -> str:
    """What the first entry of a journal says of the plan beside it."""
    return sha256(plan_text(plan).encode()).hexdigest()


def remove_unnamed(store: Path) -> None:
    """Remove what a crash left of fixes that had not begun. Only for whoever holds the lock."""
    for path in fixes_folder(store).glob(f"{MAKING}*"):
        shutil.rmtree(path, ignore_errors=True)


def _named(making: Path, plan: Plan, begun_ns: int) -> Path:
    for name in _names(plan, begun_ns):
        if not (making.parent / name).exists():
            return making.rename(making.parent / name)
    raise StoreError(f"{making.parent}: too many fixes of one second")


def _names(plan: Plan, begun_ns: int) -> Iterator[str]:
    """The ids that a fix which begins then may have, the best first."""
    remedy = plan.treatments[0].remedy if plan.treatments else "nothing"
    start = f"{datetime.fromtimestamp(begun_ns // 10**9, UTC):%Y%m%dT%H%M%SZ}-{remedy}"
    return (f"{start}-{number}" if number > 1 else start for number in range(1, MOST_OF_ONE_SECOND))
