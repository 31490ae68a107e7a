"""Who and what ran more than usual in a range."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class Suspect:
    """A process, a kernel function, or both, and how its share compares with quiet seconds."""

    kind: str
    process: str
    function: str
    way: str
    share: float
    quiet_share: float
    lift: float | None
    probability: float  # of such a difference by chance
    is_significant: bool
    text: str


@dataclass(frozen=True, slots=True)
class Culprits:
    """The suspects, the most telling first."""

    culprit: Suspect | None
    suspects: list[Suspect]
    window_seconds: float
    quiet_seconds: float
    compared: int
    note: str
    damaged: list[Damaged]
