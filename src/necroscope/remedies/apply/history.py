"""What a fix has come to, from the lines of its journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from necroscope.model.fix import Fix, FixState, Progress, StepState
from necroscope.model.plan import Plan
from necroscope.remedies.apply.journal import Entry, Happening

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
