"""The trends of many hosts at once: the slopes between all pairs of points are computed over arrays.

What follows from the slopes is that of `theil_sen`. Hosts with as many points as each other are computed
together: 5,000 hosts of 72 points take about a second, where one after the other would take half a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from necroscope.statistics.theil_sen import (
    DROP_LEAST,
    DROP_RATIO,
    FEWEST_POINTS,
    Trend,
    block_edges,
    evenly,
    middle_slope,
    trend_along,
)

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_POINTS = 72  # of a host; the number of pairs grows with the square
HOSTS_AT_ONCE = 250  # whose pairs are some megabytes


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
    """Return the trend of each host since its last boot or drop, if it has enough points since."""
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
            trends = _trends(kept.seconds[rows], kept.count[rows], begins[some].tolist())
            found |= zip(some.tolist(), trends, strict=True)
    return found


def since_last_drop(series: Series) -> Series:
    """Return the points of each host from its last boot or fall on."""
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
    """Return at most so many points of each host, evenly chosen; the first and the last are among them."""
    points = np.bincount(series.host) if len(series.host) else np.zeros(0, dtype=np.int64)
    starts = np.cumsum(points) - points
    chosen = np.repeat(points <= MOST_POINTS, points)
    for count in np.unique(points[points > MOST_POINTS]).tolist():
        chosen[starts[points == count][:, None] + np.array(evenly(count, MOST_POINTS))] = True
    return series.only(chosen)


def _trends(x: Floats, y: Floats, begins: Sequence[float]) -> Iterator[Trend]:
    """Yield one trend a row of points; `begins` is the time of the first point of each host, kept or not."""
    slopes = np.sort(_pair_slopes(x, y), axis=1)
    edges = pairwise(block_edges(x.shape[1]))
    blocks = [np.median(_pair_slopes(x[:, at : to + 1], y[:, at : to + 1]), axis=1) for at, to in edges]
    rows = zip(x.tolist(), y.tolist(), slopes, np.stack(blocks, axis=1).tolist(), begins, strict=True)
    for seconds, counts, of_pairs, of_blocks, begin in rows:
        sen = middle_slope(of_pairs, counts)
        points = list(zip(seconds, counts, strict=True))
        yield trend_along(points, sen, of_blocks, after_drop=seconds[0] > begin)


def _pair_slopes(x: Floats, y: Floats) -> Floats:
    """Return the slopes between all pairs of points of each row; no two points have the same time."""
    first, second = np.triu_indices(x.shape[1], 1)
    slopes: Floats = (y[:, second] - y[:, first]) / (x[:, second] - x[:, first])
    return slopes
