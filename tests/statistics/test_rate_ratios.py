from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.rates import test_poisson_2indep as poisson_test

from necroscope.statistics.rate_ratios import (
    Side,
    conditional_interval,
    host_variance,
    mantel_haenszel_ratio,
    rate_ratio,
)


def side(episodes: list[int], hours: float = 168.0) -> Side:
    return Side(np.array(episodes, dtype=np.int64), np.full(len(episodes), hours))


@pytest.mark.parametrize(
    ("count", "time", "other", "other_time"),
    [(38, 412 * 168.0, 21, 4588 * 168.0), (3, 1000.0, 40, 9000.0), (7, 100.0, 7, 100.0), (500, 10.0, 3, 9.0)],
)
def test_the_interval_is_the_exact_conditional_one(
    count: int, time: float, other: int, other_time: float
) -> None:
    """At either end of it, statsmodels' exact test gives just what is allowed for that side."""
    low, high = conditional_interval(count, time, other, other_time)
    for end, way in ((low, "larger"), (high, "smaller")):
        found = poisson_test(
            count, time, other, other_time, value=end, method="exact-cond", alternative=way, compare="ratio"
        )
        assert found.pvalue == pytest.approx(0.025, rel=1e-6)


def test_ends_where_nothing_limits_them() -> None:
    low, high = conditional_interval(0, 10.0, 9, 10.0)
    assert low == 0 < high < 1
    low, high = conditional_interval(9, 10.0, 0, 10.0)
    assert low > 1
    assert math.isinf(high)


def test_hosts_that_do_not_differ_have_the_plain_interval() -> None:
    random = np.random.default_rng(1)
    inside, outside = (
        Side(random.permutation(np.repeat([0, 1], [n, k])), np.full(n + k, 168.0))
        for n, k in ((180, 20), (760, 40))
    )
    assert host_variance(inside, outside) == 0
    found = rate_ratio(inside, outside)
    assert found.value == pytest.approx(2.0)
    assert (found.low, found.high) == conditional_interval(20, inside.time, 40, outside.time)


def test_repetition_on_a_host_widens_it() -> None:
    once = rate_ratio(side([1] * 30 + [0] * 170), side([1] * 30 + [0] * 770))
    again = rate_ratio(side([30] + [0] * 199), side([1] * 30 + [0] * 770))
    assert once.value == again.value
    assert again.low < once.low < once.high < again.high
    assert again.low < 1


def test_without_episodes_there_is_no_ratio() -> None:
    found = rate_ratio(side([0, 0]), side([0, 0]))
    assert found.value is None
    assert (found.low, found.high) == (0.0, math.inf)
    assert math.isinf(rate_ratio(side([2]), side([0])).value or 0)
    assert rate_ratio(side([0] * 5), side([9, 1])).value == 0


@pytest.mark.parametrize("frailty", [0.0, 0.2, 0.05])
def test_the_interval_covers_what_is_true(frailty: float) -> None:
    random = np.random.default_rng(int(1000 * frailty))
    covered = 0
    for _ in range(200):
        hours = np.where(random.random(3000) < 0.7, 168.0, 168.0 * random.random(3000))
        expected = 0.1 * hours / 168 * np.where(np.arange(3000) < 500, 4.0, 1.0)
        rate = expected * (random.gamma(frailty, 1 / frailty, 3000) if frailty else 1.0)
        episodes = random.poisson(rate).astype(np.int64)
        found = rate_ratio(Side(episodes[:500], hours[:500]), Side(episodes[500:], hours[500:]))
        covered += found.low <= 4 <= found.high
    assert covered >= 182  # 91 %, of 95 % that are meant


def test_one_stratum_is_the_crude_ratio() -> None:
    inside = np.arange(600) < 200
    episodes = np.where(np.arange(600) % 7 == 0, 1, 0) + np.where(inside & (np.arange(600) % 5 == 0), 2, 0)
    hours = np.linspace(10, 168, 600)
    found = mantel_haenszel_ratio(inside, np.zeros(600, dtype=np.int64), episodes, hours)
    crude = rate_ratio(Side(episodes[inside], hours[inside]), Side(episodes[~inside], hours[~inside]))
    assert found.value == pytest.approx(crude.value)


def test_strata_are_taken_into_account_as_by_a_regression() -> None:
    random = np.random.default_rng(5)
    strata = random.integers(0, 3, 4000)
    inside = random.random(4000) < np.array([0.1, 0.4, 0.8])[strata]
    hours = random.uniform(20, 168, 4000)
    rate = np.array([0.002, 0.006, 0.02])[strata] * np.where(inside, 1.5, 1.0)
    episodes = random.poisson(rate * hours).astype(np.int64)
    found = mantel_haenszel_ratio(inside, strata, episodes, hours)
    design = np.column_stack([inside, *(strata == s for s in range(3))]).astype(float)
    fit = sm.GLM(episodes, design, family=sm.families.Poisson(), offset=np.log(hours)).fit()
    assert found.value == pytest.approx(math.exp(fit.params[0]), rel=0.03)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(fit.conf_int()[0])), rel=0.05)
    crude = rate_ratio(Side(episodes[inside], hours[inside]), Side(episodes[~inside], hours[~inside]))
    assert (crude.value or 0) > 3


def test_strata_that_leave_nothing_to_compare() -> None:
    inside = np.array([True, False])
    found = mantel_haenszel_ratio(inside, np.array([0, 1]), np.array([3, 1]), np.array([10.0, 10.0]))
    assert found.value is None
