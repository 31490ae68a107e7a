"""What a generated fleet is to be like, and how that is written on a command line.

labels/kernel=5.10.0-9:4             hosts of that kernel have four times as many episodes
units/ecs.service=enabled:3:0.2      and so have those with that unit, which are a fifth of all
labels/zone:0.8                      of the planted hosts four in five are in one zone: a confounder
0.1:40                               a tenth of the hosts leaks 40 cgroups an hour
units/ecs.service=disabled@5d:0.5:0.2  after five days half of the hosts get it, and a fifth of the episodes
"""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.quantities import parse_duration

DEVICE = "ens5"
DEFAULT_SHARE = 0.15  # of the hosts that have a planted value which no host would have otherwise


@dataclass(frozen=True, slots=True)
class Plant:
    """A value whose hosts have more episodes than others."""

    fact: str
    value: str
    ratio: float
    share: float | None = None  # of the hosts; None: as many as have it anyway


@dataclass(frozen=True, slots=True)
class Confounder:
    """A label of which one value goes along with the first plant, and does nothing."""

    fact: str
    strength: float  # the share of planted hosts that are given that value


@dataclass(frozen=True, slots=True)
class Leak:
    """Hosts that leak memory cgroups."""

    share: float
    per_hour: float


@dataclass(frozen=True, slots=True)
class Rollout:
    """A value that some hosts get while the fleet runs, and what it does to them."""

    fact: str
    value: str
    at_seconds: float
    share: float
    ratio: float
    over_seconds: float = 86400.0  # hosts get it one after the other


@dataclass(frozen=True, slots=True)
class Plan:
    """All that decides how a fleet comes out; the same plan gives the same fleet."""

    hosts: int = 5000
    days: float = 7.0
    segment_seconds: int = 120
    seed: int = 1
    end_us: int = 1_795_046_400 * 10**6  # a full hour
    plants: tuple[Plant, ...] = ()
    confounders: tuple[Confounder, ...] = ()
    same_splits: tuple[str, ...] = ()  # labels with a value of their own on exactly the hosts of the plant
    frailty: float = 0.05  # shape of the gamma distribution by which hosts differ; 0: they do not
    episodes_a_week: float = 0.1  # of a host that nothing was planted on
    leak: Leak | None = None
    rollout: Rollout | None = None

    @property
    def seconds(self) -> float:
        """How long it runs."""
        return self.days * 86400.0

    @property
    def begin_us(self) -> int:
        """When it begins."""
        return self.end_us - int(self.seconds * 1e6)


def full_fact(text: str) -> str:
    """The name of a fact as a snapshot has it; what is usually meant may be left out."""
    section, slash, name = text.partition("/")
    if not slash:
        return f"labels/{text}"
    if section == "units" and "/" not in name:
        return f"{text}/enabled"
    if section == "nics" and "/" not in name:
        return f"nics/{DEVICE}/{name}"
    return text


def parse_plant(text: str) -> Plant:
    """FACT=VALUE:RATIO or FACT=VALUE:RATIO:SHARE."""
    fact, equals, rest = text.partition("=")
    words = rest.split(":")
    if not equals or len(words) not in (2, 3):
        raise ValueError(f"'{text}' is not FACT=VALUE:RATIO[:SHARE]")
    share = _share(words[2]) if len(words) == 3 else None
    return Plant(full_fact(fact), words[0], _ratio(words[1]), share)


def parse_confounder(text: str) -> Confounder:
    """FACT:STRENGTH."""
    fact, colon, strength = text.rpartition(":")
    if not colon:
        raise ValueError(f"'{text}' is not FACT:STRENGTH")
    return Confounder(full_fact(fact), _share(strength))


def parse_leak(text: str) -> Leak:
    """SHARE:PER_HOUR."""
    share, colon, per_hour = text.partition(":")
    if not colon:
        raise ValueError(f"'{text}' is not SHARE:PER_HOUR")
    return Leak(_share(share), _ratio(per_hour))


def parse_rollout(text: str) -> Rollout:
    """FACT=VALUE@TIME:SHARE:RATIO or FACT=VALUE@TIME:SHARE:RATIO:OVER."""
    what, at, rest = text.rpartition("@")
    fact, equals, value = what.partition("=")
    words = rest.split(":")
    if not (at and equals and len(words) in (3, 4)):
        raise ValueError(f"'{text}' is not FACT=VALUE@TIME:SHARE:RATIO[:OVER]")
    over = parse_duration(words[3]) if len(words) == 4 else 86400.0
    return Rollout(full_fact(fact), value, parse_duration(words[0]), _share(words[1]), _ratio(words[2]), over)


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(f"'{text}' is not a share from 0 to 1")
    return share


def _ratio(text: str) -> float:
    ratio = float(text)
    if not 0 <= ratio < float("inf"):
        raise ValueError(f"'{text}' is not a number of 0 or more")
    return ratio
