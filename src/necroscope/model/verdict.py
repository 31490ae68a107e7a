"""Whether a fix helped: the same quantities before and after it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from necroscope.model.plan import Goal


class Verdict(enum.Enum):
    """What can be said about a quantity, or about all together."""

    BETTER = "better"
    UNCHANGED = "unchanged"
    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity in one window."""

    value: float
    seconds: float  # that were seen, without gaps
    events: int | None  # of a quantity that counts events; None for others


@dataclass(frozen=True, slots=True)
class Comparison:
    """One quantity before and after, and how sure the difference is."""

    quantity: str
    subject: str
    unit: str
    is_goal: bool
    before: Measure | None  # None: not measured, `why` says why
    after: Measure | None
    ratio: float | None  # after / before; None where that means nothing
    low: float | None  # the interval of the ratio in which it is with 95 %
    high: float | None
    probability_better: float | None
    verdict: Verdict
    needed_seconds: float | None  # of the window after, to be conclusive; None where it is, or never will be
    why: str

    @property
    def name(self) -> str:
        """What is compared, and whose."""
        return str(Goal(self.quantity, self.subject))


@dataclass(frozen=True, slots=True)
class Verification:
    """What is said about a fix."""

    fix: str  # its id; empty where a moment was given instead
    changed_ns: int  # UTC
    before_seconds: float
    after_seconds: float
    comparisons: tuple[Comparison, ...]  # goals first
    verdict: Verdict
    summary: str  # one sentence
    needed_seconds: float | None
