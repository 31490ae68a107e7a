"""The Theil-Sen line against scipy's, and what is called a trend."""

from __future__ import annotations

import random

import pytest
from scipy.stats import t, theilslopes

from necroscope.statistics.theil_sen import (
    MOST_POINTS,
    STUDENT,
    Point,
    since_last_drop,
    theil_sen,
    thinned,
    trend_of,
)


def noisy(seed: int, count: int, slope: float, *, ties: bool = False) -> list[Point]:
    chance = random.Random(seed)
    points = [(60.0 * n, 200 + slope * 60 * n + chance.gauss(0, 20)) for n in range(count)]
    return [(x, float(round(y, -1))) for x, y in points] if ties else points


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("count", [3, 8, 50, 288])
@pytest.mark.parametrize("slope", [0.0, 0.01, -0.3])
def test_slope_and_interval_are_those_of_scipy(count: int, slope: float, ties: bool) -> None:
    for seed in range(5):
        points = noisy(seed, count, slope, ties=ties)
        found = theil_sen(points)
        value, _, low, high = theilslopes([y for _, y in points], [x for x, _ in points], 0.95)
        assert found
        assert (found.value, found.low, found.high) == pytest.approx((value, low, high), rel=1e-9, abs=1e-12)


def test_points_at_the_same_time_have_no_slope() -> None:
    assert theil_sen([(1.0, 2.0), (1.0, 5.0)]) is None


def test_the_table_is_students() -> None:
    assert {n: round(float(t.ppf(0.975, n - 1)), 3) for n in range(2, 13)} == STUDENT


def test_a_steady_leak_is_found_to_the_cgroup() -> None:
    trend = trend_of([(10.0 * n, 100 + 5.0 * n) for n in range(100)])
    assert trend
    assert trend.slope.value == trend.slope.low == trend.slope.high == pytest.approx(0.5)
    assert trend.level == pytest.approx(595)
    assert (trend.points, trend.seconds, trend.after_drop) == (100, 990.0, False)


def test_wild_points_do_not_bend_the_line() -> None:
    points = [(60.0 * n, 100 + 6.0 * n) for n in range(120)]
    for place in (17, 40, 41, 90):
        points[place] = (points[place][0], 50_000.0)
    # A wild point ends with a fall, which would be taken for a purge: the line alone is looked at.
    found = theil_sen(points)
    assert found and found.value == pytest.approx(0.1, rel=0.02)


def test_what_stands_still_has_no_trend() -> None:
    trend = trend_of([(60.0 * n, 80.0) for n in range(60)])
    assert trend and not trend.slope.is_trend


def test_of_aimless_wanderings_hardly_any_is_called_a_trend() -> None:
    """Counts of pods that come and go: each minute up or down, with no aim."""
    called, by_scipy = 0, 0
    for seed in range(200):
        chance, level = random.Random(seed), 300
        points: list[Point] = []
        for minute in range(100):
            level += chance.choice((-3, -1, 0, 1, 3))
            points.append((60.0 * minute, float(level)))
        trend = trend_of(points)
        assert trend
        called += trend.slope.is_trend
        plain = theil_sen(points)
        by_scipy += bool(plain and plain.is_trend)
    assert by_scipy > 100  # why Sen's interval alone will not do
    assert called <= 16  # 10 are expected of an interval of 95 %; more than 16 has a chance of 3 %


def test_a_leak_by_chance_lies_within_its_interval() -> None:
    """One cgroup every other minute on average: the true slope is in the interval nearly always."""
    inside, found = 0, 0
    for seed in range(200):
        chance, level = random.Random(seed), 300
        points: list[Point] = []
        for minute in range(100):
            level += chance.random() < 0.5
            points.append((60.0 * minute, float(level)))
        trend = trend_of(points)
        assert trend
        found += trend.slope.is_trend
        inside += trend.slope.low <= 0.5 / 60 <= trend.slope.high
    assert found == 200
    assert inside >= 182


def test_after_a_purge_only_the_time_after_it_counts() -> None:
    rising = [(60.0 * n, 100 + 50.0 * n) for n in range(200)]
    # A purge frees some thousands a second: no single second falls by a tenth.
    falling = [(12_000.0 + n, 10_100 - 490.0 * n) for n in range(20)]
    after = [(12_060 + 60.0 * n, 300 + 2.0 * n) for n in range(60)]
    trend = trend_of([*rising, *falling, *after])
    assert trend and trend.after_drop
    assert trend.slope.value == pytest.approx(2 / 60, rel=0.1)
    assert trend.level == pytest.approx(418, abs=5)


def test_a_drop_is_a_tenth_and_more_than_fifty() -> None:
    assert since_last_drop([(0.0, 1000.0), (1.0, 901.0)]) == [(0.0, 1000.0), (1.0, 901.0)]
    assert since_last_drop([(0.0, 1000.0), (1.0, 899.0)]) == [(1.0, 899.0)]
    assert since_last_drop([(0.0, 60.0), (1.0, 11.0)]) == [(0.0, 60.0), (1.0, 11.0)]


def test_few_points_are_no_trend_at_all() -> None:
    assert trend_of([]) is None
    assert trend_of([(float(n), float(n)) for n in range(7)]) is None


def test_thinning_keeps_both_ends() -> None:
    points = [(float(n), 0.0) for n in range(86_400)]
    kept = thinned(points)
    assert len(kept) == MOST_POINTS
    assert (kept[0], kept[-1]) == (points[0], points[-1])
