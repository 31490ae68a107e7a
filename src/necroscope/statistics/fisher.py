"""Whether hosts with a difference fail more often than chance would have it: Fisher's exact test.

Hosts are counted and not events, because trouble repeats on the same host. Numbers equal those of
scipy.stats.fisher_exact: they are counted with whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import comb
from operator import mul, truediv

from necroscope.statistics.normal import Z_95


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
        return self.symptom + self.rest_with + self.rest_without

    @property
    def symptom(self) -> int:
        """Those of the symptom's group."""
        return self.symptom_with + self.symptom_without

    @property
    def with_it(self) -> int:
        """Those with the value."""
        return self.symptom_with + self.rest_with

    @property
    def share_difference(self) -> float:
        """How much more common it is in the symptom's group, from -1 to 1; 0 where a group is empty."""
        rest = self.rest_with + self.rest_without
        return self.symptom_with / self.symptom - self.rest_with / rest if self.symptom and rest else 0.0


def fisher_exact(table: Table) -> float:
    """Return the two-sided probability of Fisher's exact test."""
    return _fisher(table.symptom_with, table.with_it, table.symptom, table.hosts)


@lru_cache(maxsize=1 << 16)
def _fisher(seen: int, with_it: int, symptom: int, hosts: int) -> float:
    lowest, ways, all_ways = draws(with_it, symptom, hosts)
    limit = ways[seen - lowest]
    return sum(some for some in ways if some <= limit) / all_ways


@lru_cache(maxsize=1 << 16)
def smallest_p(with_it: int, symptom: int, hosts: int) -> float:
    """Return the probability that no outcome can be below, whoever of the symptom's group has it."""
    few, many = sorted((with_it, symptom))
    return min(_ways(few, many, hosts, end) for end in (max(0, few + many - hosts), few)) / comb(hosts, few)


def hypergeometric_tail(seen: int, special: int, chosen: int, hosts: int) -> float:
    """Return the one-sided probability that so many or more of the chosen are special."""
    lowest, ways, all_ways = draws(special, chosen, hosts)
    return sum(ways[seen - lowest :]) / all_ways


def exact_among_strata(strata: Iterable[Table]) -> float:
    """Return the two-sided probability of as many of the symptom's group with it, over all strata, or odder.

    Within each stratum it is Fisher's; over all of them the hosts with it are added up. With a single stratum
    it is `fisher_exact`.
    """
    ways, seen = [1.0], 0
    for table in strata:
        lowest, chances = hypergeometric(table.with_it, table.symptom, table.hosts)
        together = [0.0] * (len(ways) + len(chances) - 1)
        for count, way in enumerate(ways):
            for more, chance in enumerate(chances):
                together[count + more] += way * chance
        ways, seen = together, seen + table.symptom_with - lowest
    limit = ways[seen] * (1 + 1e-9)
    return min(math.fsum(way for way in ways if way <= limit), 1.0)


def hypergeometric(special: int, chosen: int, hosts: int) -> tuple[int, list[float]]:
    """Return the smallest possible count, then the probability of each count from there on.

    It counts the special hosts among the chosen.

    From the likeliest number outwards, each by the one before: faster than in whole numbers, and as exact but
    for the last digits.
    """
    few, many = sorted((special, chosen))
    lowest, steps = _steps(few, many, hosts)
    likeliest = (few + 1) * (many + 1) // (hosts + 2)
    highest = _ways(few, many, hosts, likeliest) / comb(hosts, few)
    factors = [up / down for up, down in steps]
    before = accumulate(reversed(factors[: likeliest - lowest]), truediv, initial=highest)
    after = accumulate(factors[likeliest - lowest :], mul, initial=highest)
    return lowest, [*reversed(list(before)[1:]), *after]


def draws(special: int, chosen: int, hosts: int) -> tuple[int, list[int], int]:
    """Return the smallest possible count, the ways to each count from there on, and all ways together.

    Who is chosen and who is special are exchanged where that keeps the numbers small; it changes no share.
    """
    few, many = sorted((special, chosen))
    lowest, steps = _steps(few, many, hosts)
    ways = accumulate(
        steps, lambda some, step: some * step[0] // step[1], initial=_ways(few, many, hosts, lowest)
    )
    return lowest, list(ways), comb(hosts, few)


def _steps(few: int, many: int, hosts: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the lowest number, and by which fraction the ways to it are those to the next, and so on."""
    lowest = max(0, few + many - hosts)
    rest = hosts - few - many + 1
    return lowest, [((few - n) * (many - n), (n + 1) * (rest + n)) for n in range(lowest, few)]


def _ways(few: int, many: int, hosts: int, both: int) -> int:
    return comb(many, both) * comb(hosts - many, few - both)


def odds_ratio(table: Table) -> tuple[float, tuple[float, float]]:
    """Return the odds ratio with its 95 % interval; 0.5 is added to each count, so that none is zero."""
    a, b, c, d = (
        count + 0.5
        for count in (table.symptom_with, table.symptom_without, table.rest_with, table.rest_without)
    )
    ratio = a * d / (b * c)
    half = Z_95 * math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    return ratio, (ratio * math.exp(-half), ratio * math.exp(half))


def information_gain_bits(table: Table) -> float:
    """Return how much knowing the value tells about the group. It has no error control: for order only."""
    hosts, with_it = table.hosts, table.with_it
    if not hosts:
        return 0.0
    before = _entropy_bits(table.symptom, hosts)
    after = with_it * _entropy_bits(table.symptom_with, with_it)
    after += (hosts - with_it) * _entropy_bits(table.symptom_without, hosts - with_it)
    return max(before - after / hosts, 0.0)


def _entropy_bits(some: int, hosts: int) -> float:
    shares = [count / hosts for count in (some, hosts - some) if count]
    return -sum(share * math.log2(share) for share in shares)
