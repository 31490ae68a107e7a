"""Ratios of two rates of episodes, with intervals that know that episodes repeat on the same hosts.

The interval is the exact conditional one (Clopper and Pearson's on the share of one side in all episodes), as
statsmodels' `exact-cond`. Where hosts differ among each other, so many episodes tell as much as fewer
independent ones would: both counts and times are divided by how much more than Poisson's the variance is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from necroscope.statistics.normal import Z_95

TAIL = 0.025


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Hosts of one side: episodes and hours of each."""

    episodes: NDArray[np.int64]
    hours: NDArray[np.float64]

    @property
    def count(self) -> int:
        """All episodes."""
        return int(self.episodes.sum())

    @property
    def time(self) -> float:
        """All hours."""
        return float(self.hours.sum())

    @property
    def rate(self) -> float:
        """Episodes per host and hour; 0 without any time."""
        return self.count / self.time if self.time else 0.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio and its interval of 95 %."""

    value: float | None  # None: neither side had an episode, or one had no time
    low: float
    high: float


def rate_ratio(inside: Side, outside: Side) -> Ratio:
    """Return how many times as often it happens inside."""
    if not inside.time or not outside.time or not inside.count + outside.count:
        return Ratio(None, 0.0, math.inf)
    alpha = host_variance(inside, outside)
    pooled = (inside.count + outside.count) / (inside.time + outside.time)
    more_inside, more_outside = (_dispersion(side, alpha, pooled) for side in (inside, outside))
    low, high = conditional_interval(
        inside.count / more_inside,
        inside.time / more_inside,
        outside.count / more_outside,
        outside.time / more_outside,
    )
    value = inside.rate / outside.rate if outside.count else math.inf
    return Ratio(value, low, high)


def conditional_interval(count: float, time: float, other: float, other_time: float) -> tuple[float, float]:
    """Return the exact interval of the ratio of two Poisson rates; counts need not be whole."""
    scale = other_time / time
    low = float(betaincinv(count, other + 1, TAIL)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, other, 1 - TAIL)) if other > 0 else 1.0
    return low / (1 - low) * scale, high / (1 - high) * scale if high < 1 else math.inf


def host_variance(inside: Side, outside: Side) -> float:
    """Return how much rates of hosts of one side vary, as a share of their square; 0: as Poisson has it."""
    beyond = squares = 0.0
    for side in (inside, outside):
        expected = side.rate * side.hours
        beyond += float(((side.episodes - expected) ** 2 - expected).sum())
        squares += float((expected**2).sum())
    return max(beyond / squares, 0.0) if squares else 0.0


def _dispersion(side: Side, alpha: float, pooled: float) -> float:
    """Return the variance of a side's count, as a multiple of Poisson's."""
    expected = (side.rate or pooled) * side.hours
    return 1 + alpha * float((expected**2).sum()) / float(expected.sum())


def mantel_haenszel_ratio(
    inside: NDArray[np.bool_],
    strata: NDArray[np.int64],
    episodes: NDArray[np.int64],
    hours: NDArray[np.float64],
) -> Ratio:
    """Return the ratio of rates among hosts of the same stratum; its variance is Greenland and Robins'."""
    _, place = np.unique(strata, return_inverse=True)
    with_count, with_time = np.bincount(place, episodes * inside), np.bincount(place, hours * inside)
    count, time = np.bincount(place, episodes), np.bincount(place, hours)
    other_count, other_time = count - with_count, time - with_time
    both = (with_time > 0) & (other_time > 0)
    shares = np.where(both, 1 / np.where(time > 0, time, 1), 0.0)
    above, below = (
        float((with_count * other_time * shares).sum()),
        float((other_count * with_time * shares).sum()),
    )
    if not above or not below:
        return Ratio(math.inf if above else 0.0 if below else None, 0.0, math.inf)
    spread = float((count * with_time * other_time * shares**2).sum()) / (above * below)
    sides = (Side(episodes[inside], hours[inside]), Side(episodes[~inside], hours[~inside]))
    more = max(_dispersion(side, host_variance(*sides), 0.0) for side in sides if side.count)
    half = Z_95 * math.sqrt(spread * more)
    ratio = above / below
    return Ratio(ratio, ratio * math.exp(-half), ratio * math.exp(half))
