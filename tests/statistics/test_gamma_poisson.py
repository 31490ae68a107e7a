"""The ratio of two rates, against scipy and the numbers that were found with it."""

from __future__ import annotations

import math
import random

import pytest
from scipy.special import betainc
from scipy.stats import betaprime, gamma

from necroscope.statistics.gamma_poisson import (
    Counted,
    incomplete_beta,
    probability_below,
    rate_interval,
    ratio_interval,
)

DAY = 86400.0


def days(events: float, length: float) -> Counted:
    return Counted(events, length * DAY, 1.0)


def test_the_incomplete_beta_function_is_that_of_scipy() -> None:
    chance = random.Random(3)
    for _ in range(2000):
        a, b = (math.exp(chance.uniform(-0.7, 9.2)) for _ in range(2))
        x = chance.betavariate(a, b)
        assert incomplete_beta(x, a, b) == pytest.approx(float(betainc(a, b, x)), abs=1e-9)
    assert incomplete_beta(0.5, 7.0, 7.0) == pytest.approx(0.5)
    assert (incomplete_beta(0.0, 2, 3), incomplete_beta(1.0, 2, 3)) == (0.0, 1.0)


def test_the_ratio_is_beta_prime() -> None:
    before, after = days(12, 14), days(3, 7)
    exact = betaprime(3.5, 12.5, scale=2.0)
    for limit in (0.1, 0.5, 1.0, 3.0):
        assert probability_below(limit, before, after) == pytest.approx(float(exact.cdf(limit)), abs=1e-9)
    assert ratio_interval(before, after) == pytest.approx([float(exact.ppf(p)) for p in (0.025, 0.975)])


def test_a_rate_has_the_interval_of_its_gamma_distribution() -> None:
    low, high = rate_interval(days(7, 14))
    exact = gamma(7.5, scale=1 / (14 * DAY))
    assert low == pytest.approx(float(exact.ppf(0.025)), rel=0.02)
    assert high == pytest.approx(float(exact.ppf(0.975)), rel=0.02)


@pytest.mark.parametrize(
    ("before", "after", "halved"),
    [((12, 14), (0, 7), 0.98), ((12, 14), (2, 7), 0.68), ((3, 14), (0, 3), 0.58)],
)
def test_what_was_worked_out_for_nic_resets(
    before: tuple[float, float], after: tuple[float, float], halved: float
) -> None:
    assert probability_below(0.5, days(*before), days(*after)) == pytest.approx(halved, abs=0.006)


def test_lumps_count_as_one() -> None:
    """A hundred that come at once say no more than one."""
    single, lump = Counted(3, 60, 1.0), Counted(300, 60, 100.0)
    assert lump.events == single.events
    assert ratio_interval(lump, Counted(0, 60, 100.0)) == pytest.approx(
        ratio_interval(single, Counted(0, 60, 1.0))
    )
