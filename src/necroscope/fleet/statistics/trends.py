"""The trends of many hosts at once: what diagnosis/zombies/trend.py does for one, over arrays.

Same points, same slope, same interval; hosts with as many points as each other are computed together. 5,000
hosts of 72 points take less than a second, where one after the other would take half a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from necroscope.diagnosis.zombies.trend import (
    CONFIDENCE,
    DROP_LEAST,
    DROP_RATIO,
    FEWEST_POINTS,
    LAST,
    MOST_BLOCKS,
    STUDENT,
    Slope,
    Trend,
)

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_POINTS = 72  # of a host; the number of pairs grows with the square
HOSTS_AT_ONCE = 250  # whose pairs are some megabytes
assert CONFIDENCE == 0.95
Z = 1.959963984540054  # of the normal distribution, for that


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Counts of hosts over time, in the order of hosts and then of time."""

    host: Whole  # numbers from 0 on
    boot: Whole  # another number after each boot
    seconds: Floats
    count: Floats

    def only(self, chosen: NDArray[np.bool_] | Whole) -> Series:
        """Some of the points."""
        return Series(self.host[chosen], self.boot[chosen], self.seconds[chosen], self.count[chosen])


def trends_of(series: Series) -> dict[int, Trend]:
    """The trend of each host since its last boot or drop; hosts with too few points since are not there."""
    kept = since_last_drop(thinned(since_last_drop(series)))
    points = np.bincount(kept.host) if len(kept.host) else np.zeros(0, dtype=np.int64)
    starts = np.cumsum(points) - points
    begins = np.full(len(points), np.inf)
    np.minimum.at(begins, series.host, series.seconds)
    found: dict[int, Trend] = {}
    for count in np.unique(points[points >= FEWEST_POINTS]):
        hosts = np.flatnonzero(points == count)
        for begin in range(0, len(hosts), HOSTS_AT_ONCE):
            some = hosts[begin : begin + HOSTS_AT_ONCE]
            rows = starts[some][:, None] + np.arange(count)
            trends = _trends(kept.seconds[rows], kept.count[rows], begins[some])
            found |= zip(map(int, some), trends, strict=True)
    return found


def since_last_drop(series: Series) -> Series:
    """The points of each host from its last boot or fall on."""
    if not len(series.host):
        return series
    before, after = series.count[:-1], series.count[1:]
    falls = before - after > np.maximum(DROP_RATIO * before, DROP_LEAST)
    begins = (series.host[1:] != series.host[:-1]) | (series.boot[1:] != series.boot[:-1]) | falls
    begin_of_host = np.zeros(int(series.host.max()) + 1, dtype=np.int64)
    places = np.concatenate([[0], np.flatnonzero(begins) + 1])
    begin_of_host[series.host[places]] = places  # the last one of a host stays
    return series.only(np.arange(len(series.host)) >= begin_of_host[series.host])


def thinned(series: Series) -> Series:
    """At most so many points of each host, evenly chosen; the first and the last are among them."""
    points = np.bincount(series.host) if len(series.host) else np.zeros(0, dtype=np.int64)
    starts = np.cumsum(points) - points
    if not (points > MOST_POINTS).any():
        return series
    chosen = np.repeat(points <= MOST_POINTS, points)
    many = np.flatnonzero(points > MOST_POINTS)
    evenly = np.rint(np.arange(MOST_POINTS) * (points[many] - 1)[:, None] / (MOST_POINTS - 1))
    chosen[(starts[many][:, None] + evenly.astype(np.int64)).ravel()] = True
    return series.only(chosen)


def _trends(x: Floats, y: Floats, begins: Floats) -> Iterator[Trend]:
    """One trend a row of points."""
    value, low, high = _theil_sen(x, y)
    block_low, block_high = _block_interval(x, y)
    offsets = np.median((y - value[:, None] * x)[:, -LAST:], axis=1)
    level = value * x[:, -1] + offsets
    ends = np.minimum(low, block_low), np.maximum(high, block_high)
    for row in range(len(x)):
        yield Trend(
            Slope(float(value[row]), float(ends[0][row]), float(ends[1][row])),
            float(level[row]),
            x.shape[1],
            float(x[row, -1] - x[row, 0]),
            after_drop=bool(x[row, 0] > begins[row]),
        )


def _theil_sen(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Slopes and Sen's interval of each row."""
    slopes = np.sort(_pair_slopes(x, y), axis=1)
    pairs = slopes.shape[1]
    half = Z * np.sqrt(_kendall_variance(y))
    rows = np.arange(len(x))
    high = np.minimum(np.rint((pairs + half) / 2), pairs - 1).astype(np.int64)
    low = np.maximum(np.rint((pairs - half) / 2) - 1, 0).astype(np.int64)
    middle = (slopes[:, (pairs - 1) // 2] + slopes[:, pairs // 2]) / 2
    return middle, slopes[rows, low], slopes[rows, high]


def _pair_slopes(x: Floats, y: Floats) -> Floats:
    """The slopes between all pairs of points of each row; no two points have the same time."""
    first, second = np.triu_indices(x.shape[1], 1)
    slopes: Floats = (y[:, second] - y[:, first]) / (x[:, second] - x[:, first])
    return slopes


def _kendall_variance(y: Floats) -> Floats:
    """The variance of Kendall's score, less what ties take from it."""
    count = y.shape[1]
    # Each of so many equal values stands for (n - 1)(2n + 5), so that together they are n(n - 1)(2n + 5).
    ordered = np.sort(y, axis=1)
    equal = np.zeros_like(y)
    for row in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        _, place, times = np.unique(y[row], return_inverse=True, return_counts=True)
        equal[row] = ((times - 1) * (2 * times + 5))[place]
    variance: Floats = np.maximum(count * (count - 1) * (2 * count + 5) - equal.sum(axis=1), 0) / 18
    return variance


def _block_interval(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Student's interval of the mean slope of blocks; each begins with the last point of the one before."""
    count = x.shape[1]
    blocks = min(MOST_BLOCKS, (count - 1) // 2)
    edges = [round(place * (count - 1) / blocks) for place in range(blocks + 1)]
    slopes = np.stack(
        [
            np.median(_pair_slopes(x[:, begin : end + 1], y[:, begin : end + 1]), axis=1)
            for begin, end in pairwise(edges)
        ],
        axis=1,
    )
    half = STUDENT[blocks] * slopes.std(axis=1, ddof=1) / np.sqrt(blocks)
    mean = slopes.mean(axis=1)
    return mean - half, mean + half
