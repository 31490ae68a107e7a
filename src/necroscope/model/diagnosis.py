"""Why something happened: causes and effects, each link with its evidence."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from necroscope.model.accident import Accident
from necroscope.model.advice import Advice
from necroscope.model.culprit import Suspect
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Evidence
from necroscope.model.plan import Treatment


class Strength(enum.Enum):
    """How well a link is supported."""

    STRONG = "strong"  # all that must hold was seen, and beside it what this link explains
    FAIR = "fair"  # all that must hold was seen; of what should be beside it, a part was not, or is not known
    WEAK = "weak"  # nothing of what should be beside it was there, or a part of what must hold is not known


@dataclass(frozen=True, slots=True)
class Link:
    """One step from a cause to its effect."""

    id: str
    cause: str
    effect: str
    strength: Strength
    evidence: tuple[Evidence, ...]
    reference: str  # where this mechanism is described
    refuted_by: str  # what would show that it is not so


@dataclass(frozen=True, slots=True)
class Rival:
    """Another explanation, and why it is not the one, or may be."""

    id: str
    explanation: str
    why: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The chain from root to symptom, and how sure it is."""

    conclusion: str  # the id of the explanation in causes.toml
    verdict: str  # one sentence
    symptom: str  # the id of the event that is explained
    chain: tuple[Link, ...]  # root first
    missing: tuple[str, ...]  # links that were looked for and not found, in words
    culprit: Suspect | None
    ruled_out: tuple[Rival, ...]
    standing: tuple[Rival, ...]  # that could not be ruled out by what was seen
    not_checked: tuple[NotChecked, ...]
    advice: tuple[Advice, ...]
    treatments: tuple[Treatment, ...] = ()  # what the links of the chain ask for, those of the root first
    by_accident: tuple[Accident, ...] = ()  # units that were not at work at that time, and by chance
