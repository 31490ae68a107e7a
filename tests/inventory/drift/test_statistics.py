"""Our numbers against those of scipy, and of statsmodels where they were written down."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from necroscope.inventory.drift.statistics import (
    Table,
    benjamini_hochberg,
    exact_among_strata,
    fisher_exact,
    information_gain_bits,
    mantel_haenszel,
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
        with_it, symptom = table.symptom_with + table.rest_with, table.symptom_with + table.symptom_without
        assert smallest_p(with_it, symptom, table.hosts) <= fisher_exact(table) * (1 + 1e-12)


@pytest.mark.parametrize("count", [1, 2, 43, 500])
def test_benjamini_hochberg_equals_scipy(count: int) -> None:
    chance = random.Random(count)
    probabilities = [chance.random() ** 3 for _ in range(count)]
    probabilities += probabilities[:3]  # ties
    assert benjamini_hochberg(probabilities) == pytest.approx(stats.false_discovery_control(probabilities))
    assert benjamini_hochberg([]) == []


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


def test_mantel_haenszel_by_the_textbook() -> None:
    """The admissions to Berkeley by department, as R's mantelhaen.test(correct=FALSE) counts them."""
    departments = [
        Table(512, 313, 89, 19),
        Table(353, 207, 17, 8),
        Table(120, 205, 202, 391),
        Table(138, 279, 131, 244),
        Table(53, 138, 94, 299),
        Table(22, 351, 24, 317),
    ]
    within = mantel_haenszel(departments)
    assert within.odds_ratio == pytest.approx(0.9047, abs=1e-4)
    assert within.excess**2 / within.variance == pytest.approx(1.5246, abs=1e-3)
    assert within.p == pytest.approx(stats.chi2.sf(1.5246, 1), abs=1e-4)


def test_mantel_haenszel_equals_its_definition() -> None:
    chance = random.Random(5)
    for _ in range(30):
        strata = [Table(*(chance.randint(1, 30) for _ in range(4))) for _ in range(4)]
        expected = variance = 0.0
        for table in strata:
            rows = [[table.symptom_with, table.symptom_without], [table.rest_with, table.rest_without]]
            hosts, drawn = table.hosts, sum(rows[0])
            with_it = rows[0][0] + rows[1][0]
            mean, spread = stats.hypergeom.stats(hosts, with_it, drawn, moments="mv")
            expected += float(mean)
            variance += float(spread)
        seen = sum(table.symptom_with for table in strata)
        within = mantel_haenszel(strata)
        assert within.variance == pytest.approx(variance)
        assert within.p == pytest.approx(stats.chi2.sf((seen - expected) ** 2 / variance, 1))


def test_strata_without_anything_to_compare() -> None:
    within = mantel_haenszel([Table(5, 0, 5, 0), Table(0, 5, 0, 5), Table(1, 0, 0, 0)])
    assert (within.p, within.variance) == (1.0, 0.0)
    assert math.isnan(within.odds_ratio)


def test_exact_among_strata() -> None:
    for table in (Table(3, 256, 3, 3739), Table(0, 9, 7, 3), Table(5, 5, 5, 5)):
        assert exact_among_strata([table]) == pytest.approx(fisher_exact(table))
    strata = [Table(2, 30, 1, 60), Table(1, 10, 2, 80), Table(0, 3, 1, 4)]
    ways = [1.0]
    for one in strata:
        symptom, with_it = one.symptom_with + one.symptom_without, one.symptom_with + one.rest_with
        counts = stats.hypergeom.pmf(range(with_it + 1), one.hosts, symptom, with_it)
        ways = list(np.convolve(ways, counts))
    assert exact_among_strata(strata) == pytest.approx(sum(way for way in ways if way <= ways[3] * 1.000001))


def test_few_hosts_are_not_made_more_of_than_they_are() -> None:
    few = Table(4, 255, 2, 3740)
    assert mantel_haenszel([few]).careful_p < 1e-5 < exact_among_strata([few])
