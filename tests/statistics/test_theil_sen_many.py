from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from necroscope.statistics import theil_sen as single
from necroscope.statistics.theil_sen_many import MOST_POINTS, Series, thinned, trends_of

Floats = NDArray[np.float64]


def series_of(rows: list[tuple[Floats, Floats]]) -> Series:
    lengths = [len(x) for x, _ in rows]
    host = np.repeat(np.arange(len(rows)), lengths)
    return Series(
        host,
        np.zeros(len(host), dtype=np.int64),
        np.concatenate([x for x, _ in rows]),
        np.concatenate([y for _, y in rows]),
    )


def made(random: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """A count of any kind: growing, falling, level, wandering; some with a purge, many with equal values."""
    x = np.sort(random.random(count)) * 86400 - 86400
    y = (
        5000
        + random.choice([0.0, 0.02, -0.01]) * (x - x[0])
        + random.normal(0, random.choice([0.6, 30]), count)
    )
    if random.random() < 0.3:
        y += np.cumsum(random.normal(0, 10, count))
    if random.random() < 0.3 and count > 3:
        y[: random.integers(1, count)] += 3000
    return x, np.round(np.maximum(y, 0))


def test_every_host_has_the_trend_that_it_has_alone() -> None:
    random = np.random.default_rng(1)
    rows = [made(random, int(random.integers(1, MOST_POINTS + 1))) for _ in range(200)]
    found = trends_of(series_of(rows))
    compared = 0
    for number, (x, y) in enumerate(rows):
        alone = single.trend_of(list(zip(x.tolist(), y.tolist(), strict=True)))
        if alone is None:
            assert number not in found
            continue
        its = found[number]
        compared += 1
        assert (its.points, its.after_drop) == (alone.points, alone.after_drop)
        wanted = (alone.slope.value, alone.slope.low, alone.slope.high, alone.level, alone.seconds)
        own = (its.slope.value, its.slope.low, its.slope.high, its.level, its.seconds)
        assert own == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert compared > 100


def test_of_many_points_as_many_are_looked_at_as_of_one_host() -> None:
    random = np.random.default_rng(2)
    x: Floats = np.linspace(-86400, 0, 300)
    y: Floats = 1000 + 0.01 * (x + 86400) + random.normal(0, 3, 300)
    few = thinned(series_of([(x, y)]))
    wanted = single.thinned(list(zip(x.tolist(), y.tolist(), strict=True)), MOST_POINTS)
    assert list(zip(few.seconds.tolist(), few.count.tolist(), strict=True)) == wanted
    found, alone = trends_of(series_of([(x, y)]))[0], single.trend_of(wanted)
    assert alone
    assert found.slope.value == pytest.approx(alone.slope.value)
    assert found.slope.value == pytest.approx(stats.theilslopes(few.count, few.seconds)[0])


def test_a_boot_begins_anew_even_without_a_drop() -> None:
    x = (np.arange(40) * 600.0).astype(np.float64)
    y = np.concatenate([np.full(20, 100.0), 100 + np.arange(20) * 5.0]).astype(np.float64)
    series = series_of([(x, y)])
    booted = Series(series.host, (np.arange(40) >= 20).astype(np.int64), series.seconds, series.count)
    found = trends_of(booted)[0]
    assert found.points == 20
    assert found.after_drop
    assert found.slope.value == pytest.approx(5 / 600)


def test_the_interval_covers_the_true_slope() -> None:
    random = np.random.default_rng(3)
    x = np.linspace(-86400, 0, 72)
    slopes = random.uniform(0.001, 0.05, 400)
    rows = []
    for slope in slopes:
        noise = random.normal(0, 20, 72) + np.where(random.random(72) < 0.05, random.normal(0, 300, 72), 0)
        rows.append((x, 20_000 + slope * (x + 86400) + noise))
    found = trends_of(series_of(rows))
    covered = [found[n].slope.low <= slope <= found[n].slope.high for n, slope in enumerate(slopes)]
    assert np.mean(covered) >= 0.93
    error = [abs(found[n].slope.value / slope - 1) for n, slope in enumerate(slopes)]
    assert np.median(error) < 0.02


def test_what_only_wanders_has_no_trend() -> None:
    random = np.random.default_rng(4)
    x = np.linspace(-86400, 0, 72)
    walks = [(x, 20_000 + np.cumsum(random.normal(0, 20, 72))) for _ in range(400)]
    found = trends_of(series_of(walks))
    assert np.mean([trend.slope.is_trend for trend in found.values()]) <= 0.08
    level = [(x, 300 + random.normal(0, 5, 72)) for _ in range(400)]
    found = trends_of(series_of(level))
    assert np.mean([trend.slope.is_trend for trend in found.values()]) <= 0.06


def test_no_points_have_no_trend() -> None:
    none = np.zeros(0)
    assert trends_of(Series(none.astype(np.int64), none.astype(np.int64), none, none)) == {}
    assert trends_of(series_of([(np.arange(7.0), np.arange(7.0))])) == {}
