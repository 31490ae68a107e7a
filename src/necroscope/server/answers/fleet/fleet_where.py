"""Where events concentrate: what `necroscope fleet where` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from necroscope.server.answers.fleet.interval import Interval

StandingName = Literal["concentrates", "spared", "follows", "not shown"]


@dataclass(frozen=True, slots=True)
class ExposedHosts:
    """Hosts, and what happened to them."""

    hosts: int
    affected: int
    episodes: int
    host_hours: float


@dataclass(frozen=True, slots=True)
class FleetConcentration:
    """One value of one label, against all others of it."""

    label: str
    value: str
    inside: ExposedHosts
    outside: ExposedHosts
    rate_ratio: float | None
    interval: Interval
    p: float | None
    q: float | None  # null: in too few hosts to be tested
    standing: StandingName
    ratio_among_alike: float | None
    interval_among_alike: Interval | None
    follows: list[str]
    cannot_tell_apart_from: list[str]
    sentence: str


@dataclass(frozen=True, slots=True)
class FleetWhere:
    """The values of all labels, the likeliest cause first."""

    kinds: list[str]
    total: ExposedHosts
    tested: int
    concentrations: list[FleetConcentration]
    left_out: int  # of the end of the list
    unknown_hosts: int
    note: str
