"""What was done to a host, and which time belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.errors import UsageError
from necroscope.model.amounts import time_text
from necroscope.model.fix import Fix, FixState, StepState
from necroscope.model.plan import Goal
from necroscope.model.remedy_ids import OF_A_UNIT
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS

SETTLING_NS = 2 * SECOND_NS  # what was stopped is still being removed and freed meanwhile
TAKEN_BACK = (StepState.UNDOING, StepState.UNDONE)


@dataclass(frozen=True, slots=True)
class Change:
    """Something that was done to a host: a fix, or anything at a moment that somebody names."""

    fix: str  # its id; empty for a moment
    begun_ns: int  # UTC
    ended_ns: int
    until_ns: int  # the next change, or now: what comes later is not of this one
    goals: tuple[Goal, ...] = ()
    units: tuple[str, ...] = ()  # that were treated
    since_ns: int = 0  # the end of the change before: what came earlier is of another host, as it were
    ended_by: str = ""  # why no more time after it will count; empty where it still holds


def after_window(change: Change) -> TimeRange:
    """All the time that belongs to the change."""
    begin_ns = change.ended_ns + SETTLING_NS
    return TimeRange(begin_ns, max(change.until_ns, begin_ns))


def change_of(fix: Fix, all_fixes: Sequence[Fix], now_ns: int) -> Change:
    """The change that a fix was; it lasts until the next one on the same machine, or until its undo.

    Raises UsageError where it changed nothing that runs, or has not ended.
    """
    if fix.plan.is_image:
        raise UsageError(f"{fix.id} changed an image, in which nothing runs", hint="verify it where it runs")
    if not fix.ended_ns:
        raise UsageError(
            f"{fix.id} has not ended: it is {fix.state.value}",
            hint="necroscope fix --list shows how to go on",
        )
    others = [at for other in all_fixes if _is_other(other, fix) for at in _moments(other)]
    undo = min(
        (step.at_ns for step in fix.progress if step.state in TAKEN_BACK and step.at_ns), default=now_ns
    )
    next_ns = min((at for at in others if at >= fix.ended_ns), default=now_ns)
    return Change(
        fix=fix.id,
        begun_ns=fix.begun_ns,
        ended_ns=fix.ended_ns,
        until_ns=min(undo, next_ns, now_ns),
        goals=fix.plan.goals,
        since_ns=max((at for at in others if at <= fix.begun_ns), default=0),
        units=tuple(one.subject for one in fix.plan.treatments if one.remedy in OF_A_UNIT),
        ended_by=_ended_by(fix.ended_ns, undo, next_ns, now_ns),
    )


def change_at(at_ns: int, host: str, all_fixes: Sequence[Fix], now_ns: int) -> Change:
    """What somebody did by hand at a moment; fixes of the host end what belongs to it."""
    of_host = [fix for fix in all_fixes if fix.plan.host == host and not fix.plan.is_image]
    moments = [at for fix in of_host for at in _moments(fix)]
    next_ns = min((at for at in moments if at > at_ns), default=now_ns)
    return Change(
        fix="",
        begun_ns=at_ns,
        ended_ns=at_ns,
        until_ns=min(next_ns, now_ns),
        since_ns=max((at for at in moments if at < at_ns), default=0),
        ended_by=_ended_by(at_ns, now_ns, next_ns, now_ns),
    )


def _moments(fix: Fix) -> list[int]:
    """When a fix changed something, or may have: also one that failed, was left or was taken back."""
    moments = (fix.begun_ns, fix.ended_ns, *(step.at_ns for step in fix.progress))
    return [at for at in moments if at]


def _ended_by(ended_ns: int, undo_ns: int, next_ns: int, now_ns: int) -> str:
    until_ns = min(undo_ns, next_ns)
    if until_ns >= now_ns:
        return ""
    what = "it was taken back" if undo_ns <= next_ns else "another fix began or was taken back"
    return f"{what} after {time_text((until_ns - ended_ns) / 1e9)}"


def newest_applied(fixes: Sequence[Fix], host: str) -> Fix | None:
    """The last fix of a running host that holds."""
    applied = [fix for fix in fixes if fix.state is FixState.APPLIED and not fix.plan.is_image]
    return max((fix for fix in applied if fix.plan.host == host), key=lambda fix: fix.ended_ns, default=None)


def _is_other(other: Fix, fix: Fix) -> bool:
    """Whether it is another fix of the same machine."""
    same = (other.plan.machine_id, other.plan.is_image) == (fix.plan.machine_id, fix.plan.is_image)
    return same and other.id != fix.id
