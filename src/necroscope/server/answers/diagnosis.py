"""Why it happened: the chain from root to symptom, and what else was weighed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from necroscope.server.answers.culprit import Suspect
from necroscope.server.answers.damaged import Damaged
from necroscope.server.answers.events import RecordedEvent

Level = Literal["healthy", "trouble", "unknown"]


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """A fact, where it was read, and the moment that shows it."""

    name: str
    value: str | float | int
    unit: str
    source: str
    text: str  # as a person writes it
    moment_us: int | None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One step from a cause to its effect, and the seconds in which it shows."""

    cause: str
    effect: str
    strength: str
    evidence: list[EvidenceRow]
    begin_us: int | None
    end_us: int | None


@dataclass(frozen=True, slots=True)
class RuledOut:
    """Another explanation, and what speaks against it."""

    text: str
    evidence: list[EvidenceRow]


@dataclass(frozen=True, slots=True)
class NotChecked:
    """What could not be told, and why."""

    source: str
    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What to do; the command is to be copied, the page runs nothing."""

    text: str
    command: str  # empty where only a person can do it


@dataclass(frozen=True, slots=True)
class Explained:
    """The newest trouble of a range, explained; or that there is none, or that nothing could be checked."""

    verdict: str
    level: Level
    symptom: RecordedEvent | None
    chain: list[ChainLink]  # root first
    missing: list[str]
    culprit: Suspect | None
    ruled_out: list[RuledOut]
    standing: list[str]
    not_checked: list[NotChecked]
    plan: list[PlanStep]
    moment_begin_us: int | None  # the seconds to look at
    moment_end_us: int | None
    core: int | None  # where it was felt
    damaged: list[Damaged]
