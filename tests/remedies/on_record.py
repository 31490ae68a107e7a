"""Fixes on record that nobody carried out, for tests of what comes after a fix."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from necroscope.model.plan import Goal, Plan, Treatment
from necroscope.remedies.record.fixes import create_fix, fixes_folder, plan_checksum
from necroscope.remedies.record.journal import JOURNAL, Entry, Happening, Journal


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
    fixes_folder(store).mkdir(parents=True, exist_ok=True)
    folder = create_fix(
        store, plan, Entry(Happening.BEGUN, begun_ns, "a test", plan_sha256=plan_checksum(plan))
    )
    Journal(folder / JOURNAL).add(Entry(Happening.APPLIED, ended_ns, "a test"))
    return folder.name
