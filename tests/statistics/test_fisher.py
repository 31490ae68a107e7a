"""Our numbers against those of scipy."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from necroscope.statistics.fisher import (
    Table,
    exact_among_strata,
    fisher_exact,
    hypergeometric,
    hypergeometric_tail,
    information_gain_bits,
    odds_ratio,
    smallest_p,
)


def random_table(chance: random.Random, most: int) -> Table:
    return Table(*(chance.randint(0, most) for _ in range(4)))


@pytest.mark.parametrize("most", [3, 10, 60, 1500])
def test_fisher_equals_scipy(most: int) -> None:
    chance = random.Random(most)
    for _ in range(40):
        table = random_table(chance, most)
        rows = [[table.symptom_with, table.symptom_without], [table.rest_with, table.rest_without]]
        assert fisher_exact(table) == pytest.approx(stats.fisher_exact(rows).pvalue, rel=1e-7, abs=1e-300)


def test_fisher_of_ties_and_of_nothing() -> None:
    assert fisher_exact(Table(5, 5, 5, 5)) == 1.0
    assert fisher_exact(Table(0, 0, 0, 0)) == 1.0
    assert fisher_exact(Table(1, 0, 0, 1)) == 1.0  # one against one can show nothing
    assert fisher_exact(Table(3, 0, 0, 3)) == pytest.approx(0.1)


def test_no_outcome_is_below_the_smallest_p() -> None:
    chance = random.Random(3)
    for _ in range(100):
        table = random_table(chance, 12)
        assert smallest_p(table.with_it, table.symptom, table.hosts) <= fisher_exact(table) * (1 + 1e-12)


@pytest.mark.parametrize("most", [3, 10, 60, 1500])
def test_the_hypergeometric_distribution_is_that_of_scipy(most: int) -> None:
    chance = random.Random(most)
    for _ in range(40):
        hosts = chance.randint(1, 2 * most)
        special, chosen = chance.randint(0, hosts), chance.randint(0, hosts)
        lowest, chances = hypergeometric(special, chosen, hosts)
        assert math.fsum(chances) == pytest.approx(1.0)
        numbers = range(lowest, lowest + len(chances))
        assert chances == pytest.approx(stats.hypergeom.pmf(numbers, hosts, special, chosen), abs=1e-12)
        seen = chance.choice(numbers)
        tail = stats.hypergeom.sf(seen - 1, hosts, special, chosen)
        assert hypergeometric_tail(seen, special, chosen, hosts) == pytest.approx(tail, rel=1e-7)


def test_odds_ratio_with_a_half_added() -> None:
    ratio, (low, high) = odds_ratio(Table(9, 1, 1, 9))
    assert ratio == pytest.approx(9.5 * 9.5 / (1.5 * 1.5))
    half = 1.96 * math.sqrt(2 / 9.5 + 2 / 1.5)
    assert (low, high) == pytest.approx((ratio * math.exp(-half), ratio * math.exp(half)), rel=1e-4)
    assert math.isfinite(odds_ratio(Table(10, 0, 0, 10))[0])


def test_information_gain_is_all_or_nothing_at_the_ends() -> None:
    assert information_gain_bits(Table(10, 0, 0, 10)) == pytest.approx(1.0)
    assert information_gain_bits(Table(5, 5, 5, 5)) == pytest.approx(0.0)
    assert information_gain_bits(Table(0, 0, 0, 0)) == 0.0


def test_exact_among_strata() -> None:
    for table in (Table(3, 256, 3, 3739), Table(0, 9, 7, 3), Table(5, 5, 5, 5)):
        assert exact_among_strata([table]) == pytest.approx(fisher_exact(table))
    strata = [Table(2, 30, 1, 60), Table(1, 10, 2, 80), Table(0, 3, 1, 4)]
    ways = [1.0]
    for one in strata:
        counts = stats.hypergeom.pmf(range(one.with_it + 1), one.hosts, one.symptom, one.with_it)
        ways = list(np.convolve(ways, counts))
    assert exact_among_strata(strata) == pytest.approx(sum(way for way in ways if way <= ways[3] * 1.000001))
