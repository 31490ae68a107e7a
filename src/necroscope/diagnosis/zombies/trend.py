"""A trend that a few wild points cannot bend: the Theil-Sen line and how sure its slope is.

The slope is the median of the slopes between all pairs of points. Its interval is Sen's, from the variance of
Kendall's tau, as scipy.stats.theilslopes computes it. That variance takes points to be independent of each
other, which counts of cgroups are not: where pods come and go they wander, and four of five such wanderings
would be called a trend. So the stretch is also cut into up to twelve blocks, whose slopes are independent if
the steps are; Student's interval of their mean counts as well, and the wider end of both is taken.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, median, stdev

Point = tuple[float, float]  # x, y

MOST_POINTS = 288  # every five minutes of a day; 41,328 pairs take 30 ms
FEWEST_POINTS = 8  # with fewer, Sen's interval is as wide as all slopes
CONFIDENCE = 0.95
LAST = 5  # points whose residuals say where the line stands now
DROP_RATIO, DROP_LEAST = 0.1, 50
# Student's t for 95 % by the number of blocks: scipy.stats.t.ppf(0.975, n - 1)
STUDENT = {
    2: 12.706,
    3: 4.303,
    4: 3.182,
    5: 2.776,
    6: 2.571,
    7: 2.447,
    8: 2.365,
    9: 2.306,
    10: 2.262,
    11: 2.228,
    12: 2.201,
}
MOST_BLOCKS = max(STUDENT)


@dataclass(frozen=True, slots=True)
class Slope:
    """y per x, and between which values it lies with a certainty of CONFIDENCE."""

    value: float
    low: float
    high: float

    @property
    def is_trend(self) -> bool:
        """Whether it is sure to rise, or sure to fall."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Trend:
    """Where a count stands and where it goes, since the first or the last drop."""

    slope: Slope  # per second
    level: float  # now, by the line
    points: int
    seconds: float  # between the first and the last
    after_drop: bool  # counted from a fall, not from the first point


def theil_sen(points: Sequence[Point]) -> Slope | None:
    """The slope through points and Sen's interval; None where all have the same x."""
    slopes = sorted(
        (y - y_before) / (x - x_before) if x > x_before else (y_before - y) / (x_before - x)
        for place, (x, y) in enumerate(points)
        for x_before, y_before in points[:place]
        if x != x_before
    )
    if not slopes:
        return None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    half = z * math.sqrt(_kendall_variance(points))
    high = min(round((len(slopes) + half) / 2), len(slopes) - 1)
    low = max(round((len(slopes) - half) / 2) - 1, 0)
    return Slope(median(slopes), slopes[low], slopes[high])


def _kendall_variance(points: Sequence[Point]) -> float:
    """The variance of Kendall's score, less what ties take from it."""

    def part(count: int) -> int:
        return count * (count - 1) * (2 * count + 5)

    ties = [Counter(values) for values in zip(*points, strict=True)]
    tied = sum(part(count) for counter in ties for count in counter.values())
    return max(part(len(points)) - tied, 0) / 18


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most so many of the points, evenly chosen; the first and the last are among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def since_last_drop(points: Sequence[Point]) -> list[Point]:
    """The points from the last fall on, by more than a tenth of the count and by more than 50.

    A purge or a reboot is such a fall; what was before it says nothing about the time after.
    """
    begin = 0
    for place, ((_, before), (_, after)) in enumerate(pairwise(points), 1):
        if before - after > max(DROP_RATIO * before, DROP_LEAST):
            begin = place
    return list(points[begin:])


def trend_of(points: Sequence[Point]) -> Trend | None:
    """The trend of a count over seconds, oldest first; None: too few points since the last drop."""
    # On a thinned series first: a purge takes seconds, and a second of it need not be a drop.
    begin = since_last_drop(thinned(points))[:1]
    kept = since_last_drop(thinned([point for point in points if point[0] >= begin[0][0]]))
    sen = theil_sen(kept) if len(kept) >= FEWEST_POINTS else None
    if sen is None:
        return None
    offsets = [y - sen.value * x for x, y in kept]
    level = sen.value * kept[-1][0] + median(offsets[-LAST:])
    low, high = _block_interval(kept)
    slope = Slope(sen.value, min(sen.low, low), max(sen.high, high))
    return Trend(slope, level, len(kept), kept[-1][0] - kept[0][0], after_drop=kept[0] != points[0])


def _block_interval(points: Sequence[Point]) -> tuple[float, float]:
    """Student's interval of the mean slope of blocks; each begins with the last point of the one before."""
    blocks = min(MOST_BLOCKS, (len(points) - 1) // 2)
    edges = [round(place * (len(points) - 1) / blocks) for place in range(blocks + 1)]
    found = [theil_sen(points[begin : end + 1]) for begin, end in pairwise(edges)]
    slopes = [slope.value for slope in found if slope]
    if len(slopes) < min(STUDENT):
        return -math.inf, math.inf
    half = STUDENT[len(slopes)] * stdev(slopes) / math.sqrt(len(slopes))
    return fmean(slopes) - half, fmean(slopes) + half
