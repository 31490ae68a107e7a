"""Which differences explain failing and healthy hosts: what `necroscope fleet drift` says."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.fleet.interval import Interval


@dataclass(frozen=True, slots=True)
class ValueByGroup:
    """How many hosts of each group have a value; null: the fact is not there."""

    value: str | None
    hosts: list[int]  # in the order of the groups


@dataclass(frozen=True, slots=True)
class FleetDifference:
    """A fact that is not the same everywhere."""

    fact: str
    summary: str
    relevance: str
    matters: bool
    why: str
    q: float | None
    odds_ratio: float | None
    interval: Interval | None
    p_among_alike: float | None
    values: list[ValueByGroup]  # the most frequent first
    cannot_tell_apart_from: list[str]
    explained_by: list[str]


@dataclass(frozen=True, slots=True)
class DriftGroup:
    """A group of hosts."""

    name: str
    hosts: int


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """All differences, the likeliest to matter first."""

    groups: list[DriftGroup]
    symptom: str
    facts: int
    differences: list[FleetDifference]
    left_out: int
    note: str
