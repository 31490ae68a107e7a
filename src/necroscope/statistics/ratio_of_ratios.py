"""Did it fall more in one group than in another: the ratio of two ratios of rates, and how sure it is.

Episodes in some time follow Poisson's distribution; with Jeffreys' prior the rate behind k of them follows a
gamma distribution of shape k + 1/2, and the ratio of two such rates a beta-prime distribution. The ratio of
two of these has no closed form: the second is gone through at fixed places (Gauss and Legendre's), so that
the same counts always give the same digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from necroscope.statistics.gamma_poisson import JEFFREYS, ratio_at

Floats = NDArray[np.float64]

PLACES = 400
TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Counted:
    """Episodes in some hours, as many as tell as much as so many independent ones; need not be whole."""

    episodes: float
    hours: float


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """One group of hosts."""

    before: Counted
    after: Counted

    @property
    def ratio(self) -> float | None:
        """The rate after, as a multiple of that before; None where there was none before."""
        if not self.before.episodes or not self.after.hours:
            return None
        return (self.after.episodes / self.after.hours) / (self.before.episodes / self.before.hours)

    def probability_below(self, limits: Floats) -> Floats:
        """How sure it is that the ratio is below each of some limits."""
        odds = limits * self.after.hours / self.before.hours
        chances: Floats = betainc(
            self.after.episodes + JEFFREYS, self.before.episodes + JEFFREYS, odds / (1 + odds)
        )
        return chances

    def ratios_at(self, probabilities: Floats) -> Floats:
        """The ratios below which it is with some probabilities."""
        share = betaincinv(self.after.episodes + JEFFREYS, self.before.episodes + JEFFREYS, probabilities)
        ratios: Floats = share / np.maximum(1 - share, 1e-300) * self.before.hours / self.after.hours
        return ratios


class RatioOfRatios:
    """The ratio of the changed hosts, as a multiple of that of the others."""

    def __init__(self, changed: BeforeAfter, control: BeforeAfter) -> None:
        places, self._weights = _places()
        self._changed = changed
        self._control_ratios = control.ratios_at(places)

    def probability_below(self, limit: float) -> float:
        """How sure it is that it is less than a limit."""
        return float((self._weights * self._changed.probability_below(limit * self._control_ratios)).sum())

    def at(self, probability: float) -> float:
        """Below which value it is with a probability."""
        return ratio_at(probability, self.probability_below)

    @property
    def interval(self) -> tuple[float, float]:
        """Between which values it lies with 95 %."""
        return self.at(TAIL), self.at(1 - TAIL)


@dataclass(frozen=True, slots=True, eq=False)
class Hosts:
    """The hosts of a group, one by one: their episodes and hours before and after."""

    before: NDArray[np.int64]
    before_hours: Floats
    after: NDArray[np.int64]
    after_hours: Floats
    weight: Floats  # how much each counts; 1 for all unless they stand for others

    def counted(self, dispersion: float) -> BeforeAfter:
        """What they tell together, where episodes vary so many times as much as Poisson's would."""
        return BeforeAfter(
            _weighed(self.before, self.before_hours, self.weight, dispersion),
            _weighed(self.after, self.after_hours, self.weight, dispersion),
        )


def dispersion_of(groups: tuple[Hosts, ...]) -> float:
    """Return how much more episodes of a host vary between before and after than by chance; 1: no more.

    A host that is always bad is no reason for doubt: it is compared with itself. One that was bad on a single
    day is, because its episodes are not independent of each other.
    """
    seen = expected = 0.0
    for hosts in groups:
        total = hosts.before + hosts.after
        before, after = (
            (some.sum() + JEFFREYS) / max(hours.sum(), 1e-300) * hours
            for some, hours in ((hosts.before, hosts.before_hours), (hosts.after, hosts.after_hours))
        )
        share = after / np.maximum(before + after, 1e-300)
        seen += float(((hosts.after - total * share) ** 2).sum())
        expected += float((total * share * (1 - share)).sum())
    return max(seen / expected, 1.0) if expected else 1.0


def _weighed(episodes: NDArray[np.int64], hours: Floats, weight: Floats, dispersion: float) -> Counted:
    count, time = float((weight * episodes).sum()), float((weight * hours).sum())
    spread = float((weight**2 * episodes).sum()) / count if count else _mean_weight(weight, hours)
    less = dispersion * spread
    return Counted(count / less, time / less)


def _mean_weight(weight: Floats, hours: Floats) -> float:
    time = float((weight * hours).sum())
    return float((weight**2 * hours).sum()) / time if time else 1.0


@cache
def _places() -> tuple[Floats, Floats]:
    """Return places between 0 and 1, and the weight of each."""
    places, weights = np.polynomial.legendre.leggauss(PLACES)
    return (places + 1) / 2, weights / 2
