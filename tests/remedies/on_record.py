"""Fixes on record that nobody carried out, for tests of what comes after a fix."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from necroscope.model.plan import Goal, Plan, Treatment
from necroscope.remedies.apply.fixes import create_fix, plan_checksum
from necroscope.remedies.apply.fixes_folder import make_fixes_folder, opened_fixes
from necroscope.remedies.apply.journal import Entry, Happening, opened_journal


def plan_of(
    goals: Sequence[Goal], treatments: Sequence[Treatment] = (), host: str = "", **more: object
) -> Plan:
    """A plan without steps."""
    fields: dict[str, object] = {
        "host": host or platform.node(),
        "machine_id": "",
        "root": "/",
        "is_image": False,
        "made_at": "2026-04-15T10:00:00Z",
        **dict.fromkeys(("reasons", "seen", "assumptions", "steps", "by_hand", "warnings", "vital"), ()),
        **more,
    }
    return Plan(treatments=tuple(treatments), goals=tuple(goals), **fields)  # type: ignore[arg-type]


def applied_fix(store: Path, plan: Plan, begun_ns: int, ended_ns: int) -> str:
    """The id of a fix that was applied between two moments."""
    make_fixes_folder(store)
    begun = Entry(Happening.BEGUN, begun_ns, "a test", plan_sha256=plan_checksum(plan))
    id = create_fix(store, plan, begun).id
    put_on_record(store, id, Entry(Happening.APPLIED, ended_ns, "a test"))
    return id


def put_on_record(store: Path, id: str, *entries: Entry) -> None:
    """Add lines to the journal of a fix."""
    with opened_fixes(store) as fixes, fixes.inside(id) as folder, opened_journal(folder) as journal:
        for entry in entries:
            journal.add(entry)
