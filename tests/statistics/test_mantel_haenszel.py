"""Our numbers against those of scipy, and of R where they were written down."""

from __future__ import annotations

import random

import pytest
from scipy import stats

from necroscope.statistics.fisher import Table, exact_among_strata
from necroscope.statistics.mantel_haenszel import mantel_haenszel, stratum_of


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
    within = mantel_haenszel(map(stratum_of, departments))
    assert within.excess**2 / within.variance == pytest.approx(1.5246, abs=1e-3)
    assert within.p == pytest.approx(stats.chi2.sf(1.5246, 1), abs=1e-4)


def test_mantel_haenszel_equals_its_definition() -> None:
    chance = random.Random(5)
    for _ in range(30):
        strata = [Table(*(chance.randint(1, 30) for _ in range(4))) for _ in range(4)]
        expected = variance = 0.0
        for table in strata:
            mean, spread = stats.hypergeom.stats(table.hosts, table.with_it, table.symptom, moments="mv")
            expected += float(mean)
            variance += float(spread)
        seen = sum(table.symptom_with for table in strata)
        within = mantel_haenszel(map(stratum_of, strata))
        assert within.variance == pytest.approx(variance)
        assert within.p == pytest.approx(stats.chi2.sf((seen - expected) ** 2 / variance, 1))


def test_strata_without_anything_to_compare() -> None:
    strata = [Table(5, 0, 5, 0), Table(0, 5, 0, 5), Table(1, 0, 0, 0)]
    within = mantel_haenszel(map(stratum_of, strata))
    assert (within.p, within.variance) == (1.0, 0.0)


def test_few_hosts_are_not_made_more_of_than_they_are() -> None:
    few = Table(4, 255, 2, 3740)
    assert mantel_haenszel([stratum_of(few)]).careful_p < 1e-5 < exact_among_strata([few])
