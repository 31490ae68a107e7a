"""Fixes on disk: `<store>-fixes/<UTC time>-<remedy>/`, each with its plan, journal and newest verdict.

A fix gets its name when its plan and the state before it are on disk, which is before its first step: what
has no name has changed nothing. Of verdicts only the newest is kept: `verify` may be asked every minute.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from necroscope.errors import CannotLookError, NecroscopeError, PlanError, StoreError, UsageError
from necroscope.model.fix import Fix
from necroscope.model.kept_verdict import KeptVerdict
from necroscope.model.plan import Plan
from necroscope.model.timestamp import compact_utc
from necroscope.model.verdict import Comparison, Measure, Verdict, Verification
from necroscope.remedies.apply.fixes_folder import RecordFolder, fixes_folder, opened_fixes
from necroscope.remedies.apply.journal import (
    JOURNAL,
    Entry,
    Happening,
    entry_line,
    fix_from,
    read_entries,
)
from necroscope.remedies.plan.plan_document import LARGEST_FILE_BYTES, parse_plan, plan_text

PLAN = "plan.json"
VERDICT = "verdict.json"
VERDICT_SCHEMA = 1
MAX_VERDICT_BYTES = 4 << 20
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


def read_fixes(store: Path) -> Fixes:
    """All fixes. Raises CannotLookError if this user may not read them, StoreError if others could write."""
    try:
        with opened_fixes(store) as folder:
            return _read_all(folder)
    except (FileNotFoundError, NotADirectoryError):
        return Fixes()
    except PermissionError as error:
        what = f"not permitted to read {fixes_folder(store)}"
        raise CannotLookError(what, hint="run it as its owner: as root") from error
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error


def _read_all(folder: RecordFolder) -> Fixes:
    fixes, damaged = [], []
    for name in folder.folders():
        if name.startswith("."):
            continue
        try:
            fixes.append(read_fix(folder, name))
        except StoreError as error:
            damaged.append(DamagedFix(folder.path / name, error))
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


def read_fix(fixes: RecordFolder, id: str) -> Fix:
    """A fix from its folder. Raises StoreError, which names the file."""
    place = fixes.path / id
    try:
        with fixes.inside(id) as folder:
            data = folder.read(PLAN, LARGEST_FILE_BYTES)
            entries = read_entries(folder)
        if not entries or entries[0].kind is not Happening.BEGUN:
            raise StoreError(f"{place / JOURNAL} does not begin with the state before the fix")
        if sha256(data).hexdigest() != entries[0].plan_sha256:
            raise StoreError(f"{place / PLAN} is not the plan that was carried out")
        return fix_from(id, parse_plan(data), entries)
    except OSError as error:
        raise StoreError(f"{error.filename}: {error.strerror}") from error
    except (PlanError, ValueError, KeyError, TypeError, IndexError) as error:
        hint = "another version of necroscope may have made it"
        raise StoreError(f"{place}: {error}", hint=hint) from error


def create_fix(store: Path, plan: Plan, begun: Entry) -> Fix:
    """A new fix, with its plan and its first entry on disk. Raises OSError, StoreError."""
    with opened_fixes(store) as fixes:
        _remove_unnamed(fixes)
        making = fixes.make(MAKING)
        try:
            with fixes.inside(making) as folder:
                folder.create(PLAN, plan_text(plan).encode())
                folder.create(JOURNAL, entry_line(begun))
                folder.sync()
            fix = read_fix(fixes, making)  # one that cannot be read would hold up all others
            id = _free_name(fixes, plan, begun.at_ns)
            fixes.rename(making, id)
            fixes.sync()
        finally:
            fixes.remove(making)
    return replace(fix, id=id)


def plan_checksum(plan: Plan) -> str:
    """Return what the first entry of a journal says of its plan."""
    return sha256(plan_text(plan).encode()).hexdigest()


def _remove_unnamed(fixes: RecordFolder) -> None:
    """Remove what a crash left of fixes that had not begun. Only for whoever holds the lock."""
    for name in fixes.folders():
        if name.startswith(MAKING):
            fixes.remove(name)


def _free_name(fixes: RecordFolder, plan: Plan, begun_ns: int) -> str:
    remedy = plan.treatments[0].remedy if plan.treatments else "nothing"
    start = f"{compact_utc(begun_ns)}-{remedy}"
    for number in range(1, MOST_OF_ONE_SECOND):
        name = f"{start}-{number}" if number > 1 else start
        if not fixes.has(name):
            return name
    raise StoreError(f"{fixes.path}: too many fixes of one second")


def keep_verdict(store: Path, kept: KeptVerdict) -> None:
    """Put a verdict beside its fix, in place of an older one. Raises OSError, StoreError."""
    document = {"schema": VERDICT_SCHEMA, **asdict(kept)}
    with opened_fixes(store) as fixes, fixes.inside(kept.verification.fix) as folder:
        folder.write(VERDICT, json.dumps(document, default=lambda verdict: verdict.value).encode())


def read_verdict(store: Path, fix: str) -> KeptVerdict | None:
    """The verdict beside a fix; None where nobody asked. Raises StoreError, which names the file."""
    path = fixes_folder(store) / fix / VERDICT
    try:
        with opened_fixes(store) as fixes, fixes.inside(fix) as folder:
            document = json.loads(folder.read(VERDICT, MAX_VERDICT_BYTES))
        if document.pop("schema") != VERDICT_SCHEMA:
            raise ValueError("it has another schema")
        return KeptVerdict(**{**document, "verification": _verification(document["verification"])})
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        hint = "another version of necroscope may have made it; `necroscope verify` makes a new one"
        raise StoreError(f"{path}: {error}", hint=hint) from error


def _verification(document: dict[str, Any]) -> Verification:
    comparisons = tuple(_comparison(one) for one in document["comparisons"])
    verdict = Verdict(document["verdict"])
    return Verification(**{**document, "comparisons": comparisons, "verdict": verdict})


def _comparison(document: dict[str, Any]) -> Comparison:
    sides = {side: Measure(**measure) for side in ("before", "after") if (measure := document[side])}
    return Comparison(**{**document, **sides, "verdict": Verdict(document["verdict"])})
