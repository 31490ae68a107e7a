"""A plan that was carried out, or a part of it, and what is known about every step."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from necroscope.model.plan import Plan

State: TypeAlias = Mapping[str, str]  # what a step changes, as it was before: enough to put it back


class StepState(enum.Enum):
    """How far a step has come."""

    WAITING = "waiting"
    BEGUN = "begun"  # and not known to have ended: a crash
    DONE = "done"
    FAILED = "failed"
    UNDOING = "undoing"
    UNDONE = "undone"


class FixState(enum.Enum):
    """How far a fix has come."""

    UNFINISHED = "unfinished"  # it ended in the middle: it can go on or be taken back
    FAILED = "failed"  # a step did not do what it should; those before it hold
    APPLIED = "applied"
    UNDOING = "undoing"  # the undo ended in the middle: it can go on
    UNDONE = "undone"
    UNDONE_IN_PART = "undone in part"  # closed by hand: the rest cannot be taken back


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a fix: how far, and what came of it."""

    state: StepState
    before: State
    outcome: str  # what the step reports, or why it failed
    at_ns: int  # UTC of the last change of state; 0 while it waits


@dataclass(frozen=True, slots=True)
class Fix:
    """One fix as its record on disk tells it."""

    id: str
    state: FixState
    who: str  # the user, and through whom: root (sudo: alice), pid 4711
    begun_ns: int  # UTC, before the first step
    ended_ns: int  # UTC, after the last step; 0 while it has not ended
    plan: Plan
    progress: tuple[Progress, ...]  # one a step
    not_as_before: str = ""  # after an undo: what is not as it was, in words
