from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable

from necroscope.statistics.graded_hosts import (
    HIGHEST_GRADE,
    MOST_AFFECTED,
    exact_p,
    excess_within,
    exposure_strata,
    grades,
)

Whole = NDArray[np.int64]


def test_grades_double_from_step_to_step() -> None:
    episodes = np.array([0, 1, 2, 3, 4, 7, 8, 31, 32, 10**6])
    assert grades(episodes).tolist() == [0, 1, 2, 2, 3, 3, 4, 5, 6, HIGHEST_GRADE]


def test_hosts_of_about_the_same_time_are_alike() -> None:
    hours = np.array([168, 167, 130, 64, 65, 0.01])
    strata = exposure_strata((hours * 3.6e9).astype(np.int64))
    assert strata[0] == strata[1] == strata[2]
    assert strata[3] == strata[4] != strata[0]
    assert strata[5] < strata[4]


SOME_HOSTS = st.integers(0, 120)


@given(SOME_HOSTS, SOME_HOSTS, SOME_HOSTS, SOME_HOSTS)
def test_without_repetition_it_is_fishers_exact_test(a: int, b: int, c: int, d: int) -> None:
    inside = np.repeat([True, True, False, False], [a, b, c, d])
    grade = np.repeat([1, 0, 1, 0], [a, b, c, d]).astype(np.int64)
    table = [[a, b], [c, d]]
    p = exact_p(inside, grade, np.zeros(len(grade), dtype=np.int64))
    assert p == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-9)


HOSTS = st.tuples(st.booleans(), st.sampled_from([0, 0, 1, 1, 2, 3]))


@given(st.lists(HOSTS, min_size=1, max_size=7), st.lists(HOSTS, max_size=6))
@settings(max_examples=30)
def test_with_grades_and_strata_it_counts_every_outcome(
    first: list[tuple[bool, int]], second: list[tuple[bool, int]]
) -> None:
    strata = np.repeat([0, 1], [len(first), len(second)])
    inside = np.array([is_inside for is_inside, _ in first + second], dtype=bool)
    grade = np.array([grade for _, grade in first + second], dtype=np.int64)
    assert exact_p(inside, grade, strata) == pytest.approx(brute_p(inside, grade, strata), rel=1e-9)


def brute_p(inside: NDArray[np.bool_], grade: Whole, strata: Whole) -> float:
    """All ways to choose as many hosts of each stratum."""
    ways: dict[int, int] = {}
    choices = []
    for stratum in np.unique(strata):
        its = np.flatnonzero(strata == stratum)
        choices.append([grade[list(some)].sum() for some in combinations(its, int(inside[its].sum()))])
    for some in product(*choices):
        ways[int(sum(some))] = ways.get(int(sum(some)), 0) + 1
    seen = ways[int(grade[inside].sum())]
    return sum(count for count in ways.values() if count <= seen) / sum(ways.values())


@given(st.integers(0, 2**32))
@settings(max_examples=10)
def test_excess_of_plain_grades_is_cochran_mantel_haenszels(seed: int) -> None:
    random = np.random.default_rng(seed)
    strata = random.integers(0, 4, 400)
    inside = random.random(400) < 0.2 + 0.1 * strata
    grade = (random.random(400) < 0.05 + 0.1 * strata).astype(np.int64)
    tables = [
        [[int(((inside == i) & (grade == g) & (strata == s)).sum()) for g in (1, 0)] for i in (True, False)]
        for s in range(4)
    ]
    oracle = StratifiedTable([np.array(table) for table in tables]).test_null_odds(correction=False)
    assert excess_within(inside, grade, strata).p == pytest.approx(oracle.pvalue, rel=1e-9)


def test_few_bad_hosts_are_no_alarm_however_often_they_fail() -> None:
    """Where events repeat on few hosts, a test that counts events is wrong in one of eight cases."""
    random = np.random.default_rng(3)
    strata = np.zeros(1000, dtype=np.int64)
    inside = np.arange(1000) < 200
    by_host = by_event = 0
    for _ in range(300):
        episodes = random.poisson(0.3 * random.gamma(0.01, 100, 1000))
        by_host += exact_p(inside, grades(episodes), strata) <= 0.05
        total = int(episodes.sum())
        by_event += bool(total) and stats.binomtest(int(episodes[inside].sum()), total, 0.2).pvalue <= 0.05
    assert by_host / 300 <= 0.07
    assert by_event / 300 > 0.1


def test_what_is_too_much_to_count_is_near_what_was_counted() -> None:
    random = np.random.default_rng(4)
    episodes = random.poisson(3.0, 3000)
    inside = np.arange(3000) < 100
    grade, strata = grades(episodes), np.zeros(3000, dtype=np.int64)
    assert (grade > 0).sum() > MOST_AFFECTED
    half = exact_p(inside, np.where(np.arange(3000) % 3 == 0, grade, 0), strata)
    normal = excess_within(inside, np.where(np.arange(3000) % 3 == 0, grade, 0), strata).p
    assert half == pytest.approx(normal, rel=0.1)
    assert exact_p(inside, grade, strata) == excess_within(inside, grade, strata).p


def test_tails_keep_their_digits() -> None:
    """A cause that is beyond doubt has a probability of its own, and not 0: the order depends on it."""
    inside = np.arange(2000) < 100
    p = exact_p(inside, inside.astype(np.int64), np.zeros(2000, dtype=np.int64))
    assert p == pytest.approx(1 / comb(2000, 100), rel=1e-6)


def test_nothing_is_certain_of_nothing() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert exact_p(none.astype(bool), none, none) == 1.0
    assert (
        excess_within(np.ones(5, dtype=bool), np.ones(5, dtype=np.int64), np.zeros(5, dtype=np.int64)).p
        == 1.0
    )
