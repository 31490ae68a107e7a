from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from necroscope.statistics.ratio_of_ratios import (
    BeforeAfter,
    Counted,
    Hosts,
    RatioOfRatios,
    dispersion_of,
)


def group(before: float, after: float, hours: float = 1000.0, later: float = 1000.0) -> BeforeAfter:
    return BeforeAfter(Counted(before, hours), Counted(after, later))


@pytest.mark.parametrize(
    ("before", "days", "after", "later", "halved"),
    [(12, 14, 0, 7, 0.98), (12, 14, 2, 7, 0.68), (3, 14, 0, 3, 0.59)],
)
def test_one_group_alone_is_in_closed_form(
    before: int, days: int, after: int, later: int, halved: float
) -> None:
    alone = group(before, after, days * 24.0, later * 24.0)
    oracle = stats.betaprime(after + 0.5, before + 0.5, scale=days / later)
    for limit in (0.5, 1.0, 2.0):
        own = float(alone.probability_below(np.array([limit]))[0])
        assert own == pytest.approx(oracle.cdf(limit), rel=1e-9)
    assert float(alone.probability_below(np.array([0.5]))[0]) == pytest.approx(halved, abs=0.01)
    assert alone.ratios_at(np.array([0.3]))[0] == pytest.approx(oracle.ppf(0.3))


@pytest.mark.parametrize(
    ("changed", "control"),
    [
        (group(141, 26), group(134, 103)),
        (group(3, 0, 500, 200), group(40, 35)),
        (group(0, 2), group(1, 0)),
        (group(2000, 900), group(8.3, 7.7, 30, 40)),
    ],
)
def test_two_groups_are_as_simulated(changed: BeforeAfter, control: BeforeAfter) -> None:
    random = np.random.default_rng(1)

    def rate(counted: Counted) -> NDArray[np.float64]:
        return random.gamma(counted.episodes + 0.5, 1 / counted.hours, 400_000)

    ratios = rate(changed.after) / rate(changed.before) / (rate(control.after) / rate(control.before))
    own = RatioOfRatios(changed, control)
    for limit in (0.25, 0.5, 1.0, 2.0):
        assert own.probability_below(limit) == pytest.approx((ratios < limit).mean(), abs=0.003)
    low, high = own.interval
    assert np.log([low, high]) == pytest.approx(np.log(np.quantile(ratios, [0.025, 0.975])), abs=0.06)
    assert own.probability_below(own.at(0.3)) == pytest.approx(0.3, abs=1e-6)


def test_the_same_counts_give_the_same_digits() -> None:
    pair = group(12.5, 3.25, 900.1, 411.7), group(88, 41, 9000, 4000)
    assert len({RatioOfRatios(*pair).interval for _ in range(5)}) == 1


def test_a_large_control_that_stays_the_same_changes_nothing() -> None:
    changed = group(20, 5)
    alone = float(changed.probability_below(np.array([0.5]))[0])
    assert RatioOfRatios(changed, group(4e5, 4e5)).probability_below(0.5) == pytest.approx(alone, abs=0.001)


def hosts(before: list[int], after: list[int]) -> Hosts:
    ones = np.ones(len(before))
    return Hosts(np.array(before), 100 * ones, np.array(after), 100 * ones, ones)


def test_a_host_that_is_always_bad_is_no_reason_for_doubt() -> None:
    random = np.random.default_rng(2)
    rate = random.gamma(0.05, 20 * 0.5, 4000)
    steady = hosts(random.poisson(rate).tolist(), random.poisson(rate).tolist())
    assert dispersion_of((steady,)) < 1.2
    bad_days = [(9, 0), (0, 8), (12, 0), (7, 1), (0, 11)] * 10
    clustered = hosts([b for b, _ in bad_days], [a for _, a in bad_days])
    assert dispersion_of((clustered,)) > 5
    assert clustered.counted(5.0).before.episodes == pytest.approx(sum(b for b, _ in bad_days) / 5)
    assert clustered.counted(5.0).ratio == pytest.approx(clustered.counted(1.0).ratio)


def test_hosts_that_stand_for_others_tell_less() -> None:
    ones = np.ones(2)
    weighed = Hosts(np.array([4, 4]), 100 * ones, np.array([1, 1]), 100 * ones, np.array([1.9, 0.1]))
    assert weighed.counted(1.0).before.episodes < 8
    assert weighed.counted(1.0).ratio == pytest.approx(0.25)
