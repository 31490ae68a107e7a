"""Whether a record says nothing but what our remedies could have planned and met on this host.

Root does what a record says: an undo puts back what it calls the state before, and `--continue` does its
steps, which nobody plans again. So both are checked, of each step, before anything is done; and in the same
way before a fix begins, so that an undo is never refused for what was there when it began.
"""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.errors import RefusedError
from necroscope.model.fix import Fix, State
from necroscope.model.plan import Step, Treatment
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.sources.host import Host


def refuse_foreign_record(fix: Fix, host: Host) -> None:
    """Not if a step, or the state before it, cannot be ours. Raises RefusedError."""
    befores = [progress.before for progress in fix.progress]
    if why := why_foreign(fix.plan.treatments, fix.plan.steps, befores, host):
        hint = f"see who has changed the record, and move its folder away ({fix.id}); nothing was changed"
        raise RefusedError(f"the record of {fix.id} is not of a fix of ours: {why}", hint=hint)


def why_foreign(
    treatments: Sequence[Treatment], steps: Sequence[Step], befores: Sequence[State], host: Host
) -> str:
    """Why a step, or the state before it, cannot be ours, and which; empty if all can."""
    for number, (step, before) in enumerate(zip(steps, befores, strict=True), start=1):
        if why := _why_foreign(treatments, step, before, host):
            return f"step {number} ({step.action[:80]} {step.target[:200]}): {why}"
    return ""


def _why_foreign(treatments: Sequence[Treatment], step: Step, before: State, host: Host) -> str:
    action = ALL_ACTIONS.get(step.action)
    if action is None:
        return "there is no such action"
    if why := action.why_not_ours(host, step, before):
        return why
    why = "no treatment has such a step"
    for one in treatments:
        why_not_planned = ALL_REMEDIES[one.remedy].steps.get(step.action)
        if why_not_planned and not (why := why_not_planned(host, one.subject, step, before)):
            return ""
    return why
