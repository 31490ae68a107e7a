"""What chance would give: how likely a job ends near an event that has nothing to do with it.

The events of a host are as they are. A job that has nothing to do with them ends at any time; that an event
lies in its window has the probability of the share of the recorded time that lies in such windows. Windows
that overlap are counted once, so that a burst of events weighs no more than it covers.

Jobs that end together on the same host are one draw: if an event lies near one by chance, it does near all
that are as likely to have one (statistics/poisson_binomial).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from necroscope.fleet.questions.jobs_gathered import Span
from necroscope.statistics.poisson_binomial import add_draws, nothing_drawn, probability_of_at_least

Floats = npt.NDArray[np.float64]
TAIL = 0.025  # of each side of an interval of 95 %


@dataclass(frozen=True, slots=True)
class Draw:
    """Jobs that end together: how many of them have an event, and how likely each has one by chance."""

    hits: int
    chances: tuple[float, ...]

    @property
    def expected(self) -> float:
        """How many of them have an event by chance."""
        return sum(self.chances)

    def raised(self, scale: float) -> Draw:
        """The same with chances that are so many times as high."""
        return Draw(self.hits, tuple(min(one * scale, 1.0) for one in self.chances))


@dataclass(frozen=True, slots=True)
class Excess:
    """How many jobs have an event, against chance."""

    hits: int
    expected: float
    more: float  # than by chance
    interval: tuple[float, float]  # 95 %
    p: float


class Coverage:
    """The share of the recorded time in which the end of a job would have an event in its window."""

    def __init__(
        self,
        event_times_us: Mapping[str, Sequence[int]],
        recorded_us: Mapping[str, int],
        window_us: Span,
        range_us: Span,
    ) -> None:
        self._times, self._recorded = event_times_us, recorded_us
        self._before, self._after = window_us
        self._begin, self._end = range_us
        self._known: dict[frozenset[str], float] = {}

    def chance(self, hosts: Iterable[str]) -> float:
        """For a job on these hosts, of which each may have the event."""
        key = frozenset(host for host in hosts if self._times.get(host))
        if key not in self._known:
            self._known[key] = self._covered(key)
        return self._known[key]

    def _covered(self, hosts: frozenset[str]) -> float:
        if not hosts:
            return 0.0
        times = np.sort(np.concatenate([np.asarray(self._times[host], np.int64) for host in hosts]))
        begins = np.clip(times - self._after, self._begin, self._end)
        ends = np.clip(times + self._before, self._begin, self._end)
        begins[1:] = np.maximum(begins[1:], ends[:-1])  # all windows are of one length: ends are in order
        covered = int(np.maximum(ends - begins, 0).sum())
        # Of hosts recorded for different times, the shortest: rather too much chance than too little.
        recorded = min(self._recorded.get(host, 0) for host in hosts)
        return min(covered / recorded, 1.0) if recorded else 1.0


def weigh(draws: Sequence[Draw], scale: float = 1.0) -> Excess:
    """What is seen against what chance gives; `scale` raises the chances where they are too low."""
    scaled = [one.raised(scale) for one in draws]
    hits = sum(one.hits for one in scaled)
    jobs = sum(len(one.chances) for one in scaled)
    expected = float(sum(one.expected for one in scaled))
    others = 1.0 - expected / jobs if jobs else 1.0
    # Those that failed because of an event had one for sure: chance is left to the others only.
    more = min(max((hits - expected) / others, 0.0), hits) if others > 0 else 0.0
    low, high = _interval(scaled, hits)
    probability = probability_of_at_least(hits, (one.chances for one in scaled))
    return Excess(hits, expected, more, (min(low, more), max(high, more)), probability)


def _interval(draws: Sequence[Draw], hits: int) -> tuple[float, float]:
    """How many of the hits may not be chance: all numbers that what is seen does not speak against.

    Of the draws with hits, some are taken for chance and the others not; the likeliest by chance first for
    the lower bound, and last for the upper.
    """
    hit = sorted(
        (one for one in draws if one.hits), key=lambda one: (-one.expected / len(one.chances), one.hits)
    )
    none = add_draws(nothing_drawn(hits + 1), (one.chances for one in draws if not one.hits))
    low, high = hits, 0
    for by_chance, counts in _taken_for_chance(hit, none):
        if counts[by_chance:].sum() > TAIL:
            low = min(low, hits - by_chance)
    for by_chance, counts in _taken_for_chance(hit[::-1], none):
        if counts[: by_chance + 1].sum() > TAIL:
            high = max(high, hits - by_chance)
    return float(low), float(max(low, high))


def _taken_for_chance(hit: Sequence[Draw], none: Floats) -> Iterable[tuple[int, Floats]]:
    """Ever more draws taken for chance: how many jobs that makes, and the probabilities of such counts."""
    counts, by_chance = none, 0
    yield by_chance, counts
    for one in hit:
        counts, by_chance = add_draws(counts, [one.chances]), by_chance + one.hits
        yield by_chance, counts
