"""Whether hosts with a difference fail more often than chance would have it.

Hosts are counted and not events, because trouble repeats on the same host. Numbers equal those of
scipy.stats.fisher_exact, scipy.stats.false_discovery_control and statsmodels' StratifiedTable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

Z_95 = 1.959963984540054  # of the normal distribution


@dataclass(frozen=True, slots=True)
class Table:
    """Hosts by value and group: the four fields of a contingency table."""

    symptom_with: int
    symptom_without: int
    rest_with: int
    rest_without: int

    @property
    def hosts(self) -> int:
        """All of them."""
        return self.symptom_with + self.symptom_without + self.rest_with + self.rest_without

    @property
    def share_difference(self) -> float:
        """How much more common it is in the symptom's group, from -1 to 1; 0 where a group is empty."""
        symptom = self.symptom_with + self.symptom_without
        rest = self.rest_with + self.rest_without
        return self.symptom_with / symptom - self.rest_with / rest if symptom and rest else 0.0


def fisher_exact(table: Table) -> float:
    """The two-sided probability of Fisher's exact test, counted with whole numbers."""
    with_it = table.symptom_with + table.rest_with
    symptom = table.symptom_with + table.symptom_without
    return _fisher(table.symptom_with, with_it, symptom, table.hosts)


@lru_cache(maxsize=1 << 16)
def _fisher(seen: int, with_it: int, symptom: int, hosts: int) -> float:
    lowest, highest = max(0, with_it + symptom - hosts), min(with_it, symptom)
    ways = [math.comb(with_it, lowest) * math.comb(hosts - with_it, symptom - lowest)]
    for count in range(lowest, highest):
        up = (with_it - count) * (symptom - count)
        ways.append(ways[-1] * up // ((count + 1) * (hosts - with_it - symptom + count + 1)))
    limit = ways[seen - lowest]
    return sum(some for some in ways if some <= limit) / math.comb(hosts, symptom)


@lru_cache(maxsize=1 << 16)
def smallest_p(with_it: int, symptom: int, hosts: int) -> float:
    """Below this no outcome can be, given how many have it and how many are of the symptom's group."""
    ends = (max(0, with_it + symptom - hosts), min(with_it, symptom))
    ways = min(math.comb(with_it, end) * math.comb(hosts - with_it, symptom - end) for end in ends)
    return ways / math.comb(hosts, symptom)


def benjamini_hochberg(probabilities: Sequence[float]) -> list[float]:
    """Each probability as the rate of false discoveries that one accepts by accepting it."""
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__, reverse=True)
    adjusted = [1.0] * len(probabilities)
    lowest = 1.0
    for rank, place in zip(range(len(order), 0, -1), order, strict=True):
        lowest = min(lowest, probabilities[place] * len(order) / rank)
        adjusted[place] = lowest
    return adjusted


def odds_ratio(table: Table) -> tuple[float, tuple[float, float]]:
    """The odds ratio with its 95 % interval; 0.5 is added to each count, so that none is zero."""
    a, b, c, d = (
        count + 0.5
        for count in (table.symptom_with, table.symptom_without, table.rest_with, table.rest_without)
    )
    ratio = a * d / (b * c)
    half = Z_95 * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    return ratio, (ratio * math.exp(-half), ratio * math.exp(half))


def information_gain_bits(table: Table) -> float:
    """How much knowing the value tells about the group. It has no error control: for order only."""
    hosts = table.hosts
    symptom, with_it = table.symptom_with + table.symptom_without, table.symptom_with + table.rest_with
    if not hosts:
        return 0.0
    before = _entropy_bits(symptom, hosts)
    after = with_it * _entropy_bits(table.symptom_with, with_it)
    after += (hosts - with_it) * _entropy_bits(table.symptom_without, hosts - with_it)
    return max(before - after / hosts, 0.0)


def _entropy_bits(some: int, hosts: int) -> float:
    shares = [count / hosts for count in (some, hosts - some) if count]
    return -sum(share * math.log2(share) for share in shares)


@dataclass(frozen=True, slots=True)
class Stratified:
    """The association that is left within strata: Cochran-Mantel-Haenszel."""

    p: float  # without continuity correction
    odds_ratio: float  # Mantel and Haenszel's; infinite or NaN where the strata leave nothing
    excess: float  # more hosts of the symptom's group with it than expected
    variance: float  # of that; 0: within no stratum is there anything to compare

    @property
    def careful_p(self) -> float:
        """With continuity correction: near the exact one also where strata are small."""
        beyond = max(abs(self.excess) - 0.5, 0.0)
        return math.erfc(beyond / math.sqrt(2 * self.variance)) if self.variance else 1.0


def mantel_haenszel(strata: Iterable[Table]) -> Stratified:
    """The association within strata."""
    excess = variance = with_it_odds = without_odds = 0.0
    for table in strata:
        hosts = table.hosts
        if hosts < 2:
            continue
        symptom, with_it = table.symptom_with + table.symptom_without, table.symptom_with + table.rest_with
        excess += table.symptom_with - symptom * with_it / hosts
        variance += symptom * with_it * (hosts - symptom) * (hosts - with_it) / (hosts * hosts * (hosts - 1))
        with_it_odds += table.symptom_with * table.rest_without / hosts
        without_odds += table.symptom_without * table.rest_with / hosts
    p = math.erfc(math.sqrt(excess * excess / variance / 2)) if variance else 1.0
    nothing = math.inf if with_it_odds else math.nan
    return Stratified(p, with_it_odds / without_odds if without_odds else nothing, excess, variance)


def exact_among_strata(strata: Iterable[Table]) -> float:
    """The two-sided probability of as many hosts of the symptom's group with it, over all strata, or odder.

    Within each stratum it is Fisher's; over all of them the hosts with it are added up. With a single stratum
    it is `fisher_exact`.
    """
    ways, seen = [1.0], 0
    for table in strata:
        lowest, chances = _hypergeometric(table)
        together = [0.0] * (len(ways) + len(chances) - 1)
        for count, way in enumerate(ways):
            for more, chance in enumerate(chances):
                together[count + more] += way * chance
        ways, seen = together, seen + table.symptom_with - lowest
    limit = ways[seen] * (1 + 1e-9)
    return min(math.fsum(way for way in ways if way <= limit), 1.0)


def _hypergeometric(table: Table) -> tuple[int, list[float]]:
    """The fewest hosts of the symptom's group that may have it, and the probabilities of so many and more."""
    with_it = table.symptom_with + table.rest_with
    symptom, hosts = table.symptom_with + table.symptom_without, table.hosts
    lowest, highest = max(0, with_it + symptom - hosts), min(with_it, symptom)
    total = math.comb(hosts, symptom)
    return lowest, [
        math.comb(with_it, count) * math.comb(hosts - with_it, symptom - count) / total
        for count in range(lowest, highest + 1)
    ]
