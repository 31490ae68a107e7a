"""Where events concentrate: the answer of `fleet where`."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Standing(enum.Enum):
    """What can be said of a label's value."""

    CONCENTRATES = (
        "concentrates"  # more hosts are affected than chance would have it, and nothing explains it
    )
    SPARED = "spared"  # fewer
    FOLLOWS = "follows"  # only because of another label, which it goes along with: a confounder
    NOT_SHOWN = "not shown"


@dataclass(frozen=True, slots=True)
class Exposed:
    """Hosts with a value, or without it, and what happened to them."""

    hosts: int
    affected: int  # hosts with an event or more
    episodes: int  # events of a host that follow each other closely are one
    host_hours: float

    @property
    def rate(self) -> float | None:
        """Episodes per host and hour; None without any time."""
        return self.episodes / self.host_hours if self.host_hours else None


@dataclass(frozen=True, slots=True)
class Concentration:
    """One value of one label, against all other known values of it."""

    label: str  # section/name of a fact, as in drift: labels/zone
    value: str
    inside: Exposed
    outside: Exposed
    rate_ratio: float | None  # per host and hour; None: neither side had an episode
    interval: tuple[float, float]  # 95 %, of the hosts, not of the events; infinite where nothing limits it
    p: float  # exact, two-sided; hosts by how often they were affected: not, once, 2 or 3 times, 4 to 7, ...
    q: float | None  # by Benjamini-Hochberg over all that were tested; None: in too few hosts to be tested
    standing: Standing
    ratio_among_alike: float | None  # Mantel-Haenszel, among hosts alike in what it was told apart from
    interval_among_alike: tuple[float, float] | None
    follows: tuple[str, ...]  # labels that explain it
    cannot_tell_apart_from: tuple[str, ...]  # label=value that has the same hosts
    sentence: str


@dataclass(frozen=True, slots=True)
class Where:
    """All values of all labels, the likeliest cause first."""

    kinds: tuple[str, ...]  # of events
    begin_us: int
    end_us: int
    total: Exposed
    tested: int  # values
    concentrations: tuple[Concentration, ...]
    unknown_hosts: int  # whose facts are not known
    note: str  # what limits the answer; empty: nothing
