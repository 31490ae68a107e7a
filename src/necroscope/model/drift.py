"""How hosts differ: each difference with what makes it likely to matter."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Relevance(enum.Enum):
    """Why a difference stands where it does."""

    KNOWN = "known"  # a rule says that such a difference matters, and nothing here speaks against it
    ASSOCIATED = "associated"  # it goes with the symptom across hosts, more than chance would have it
    INCIDENTAL = "incidental"  # neither, or it only follows another difference


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly a difference goes with the symptom, counted in hosts."""

    p: float  # Fisher's exact test, two-sided
    q: float | None  # by Benjamini-Hochberg; None: in too few hosts to be tested
    odds_ratio: float  # of the value of the sentence, 0.5 added to each count
    interval: tuple[float, float]  # 95 %
    information_gain_bits: float


@dataclass(frozen=True, slots=True)
class FactByGroup:
    """One fact: how many hosts of each group have each value. The value None: the fact is not there."""

    fact: str  # section/name
    values: Mapping[str, Mapping[str | None, int]]


@dataclass(frozen=True, slots=True)
class Because:
    """What is behind a difference."""

    fact: str  # of the cause
    text: str  # as it stands in the sentence, from "because" on
    link: str  # what ties the two together; empty: only that they came together
    is_shown: bool  # False: it came along, and whether it is the cause is not shown


@dataclass(frozen=True, slots=True)
class Difference:
    """What is told as one: a fact that is not the same everywhere, and those that belong to it."""

    lead: FactByGroup
    summary: str
    relevance: Relevance
    matters: bool
    why: str
    reference: str
    association: Association | None  # None: single hosts were compared
    p_among_alike: float | None  # of the same, among hosts alike in what matters more; None: not looked at
    hosts: Mapping[str | None, tuple[str, ...]]  # by value of the lead; the first of many
    together: tuple[FactByGroup, ...]  # other facts about the same unit, or of the same kind
    same_split: tuple[str, ...]  # facts that split the hosts in exactly the same way
    cannot_tell_apart_from: tuple[str, ...]
    explained_by: tuple[str, ...]  # it follows these, and says nothing beyond them
    because: Because | None
    cause_of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotCompared:
    """Hosts of which a section is not known, so that nothing in it is a difference."""

    section: str
    hosts: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Drift:
    """All differences, the likeliest to matter first."""

    groups: Mapping[str, tuple[str, ...]]  # name -> hosts; single hosts are groups of one
    symptom: str | None  # the group that is to be explained; None: single hosts were compared
    facts: int  # that were compared
    differences: tuple[Difference, ...]
    not_compared: tuple[NotCompared, ...]
    note: str  # what limits the answer; empty: nothing
