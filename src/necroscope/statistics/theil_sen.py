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
from statistics import fmean, median, stdev
from typing import TypeVar

from necroscope.statistics.normal import Z_95

T = TypeVar("T")
Point = tuple[float, float]  # x, y

MOST_POINTS = 288  # every five minutes of a day; 41,328 pairs take 30 ms
FEWEST_POINTS = 8  # with fewer, Sen's interval is as wide as all slopes
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
    """y per x, and between which values it lies with a certainty of 95 %."""

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
    """Return the slope through points and Sen's interval; None where all have the same x."""
    slopes = sorted(
        (y - y_before) / (x - x_before) if x > x_before else (y_before - y) / (x_before - x)
        for place, (x, y) in enumerate(points)
        for x_before, y_before in points[:place]
        if x != x_before
    )
    return middle_slope(slopes, *zip(*points, strict=True)) if slopes else None


def middle_slope(slopes: Sequence[float], *coordinates: Sequence[float]) -> Slope:
    """Return the median of the slopes between all pairs, in order, and Sen's interval; ties widen it."""
    pairs = len(slopes)
    half = Z_95 * math.sqrt(_kendall_variance(*coordinates))
    high = min(round((pairs + half) / 2), pairs - 1)
    low = max(round((pairs - half) / 2) - 1, 0)
    middle = (slopes[(pairs - 1) // 2] + slopes[pairs // 2]) / 2
    return Slope(float(middle), float(slopes[low]), float(slopes[high]))


def _kendall_variance(*coordinates: Sequence[float]) -> float:
    """Return the variance of Kendall's score, less what ties take from it."""

    def part(count: int) -> int:
        return count * (count - 1) * (2 * count + 5)

    tied = sum(part(count) for values in coordinates for count in Counter(values).values())
    return max(part(len(coordinates[0])) - tied, 0) / 18


def thinned(rows: Sequence[T], most: int = MOST_POINTS) -> list[T]:
    """Return at most so many of some rows, evenly chosen; the first and the last are among them."""
    return [rows[place] for place in evenly(len(rows), most)]


def evenly(count: int, most: int) -> Sequence[int]:
    """Return the places of those; of a single one, the last."""
    if count <= most or most == 1:
        return range(count)[-most:]
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def is_drop(before: float, after: float) -> bool:
    """Return whether a count fell by more than a tenth and by more than 50, as by a purge or a reboot."""
    return before - after > max(DROP_RATIO * before, DROP_LEAST)


def since_last_drop(points: Sequence[Point]) -> list[Point]:
    """Return the points from the last drop on: what was before it says nothing about the time after."""
    begin = 0
    for place, ((_, before), (_, after)) in enumerate(pairwise(points), 1):
        if is_drop(before, after):
            begin = place
    return list(points[begin:])


def trend_of(points: Sequence[Point]) -> Trend | None:
    """Return the trend of a count over seconds, oldest first; None: too few points since the last drop."""
    # On a thinned series first: a purge takes seconds, and a second of it need not be a drop.
    begin = since_last_drop(thinned(points))[:1]
    kept = since_last_drop(thinned([point for point in points if point[0] >= begin[0][0]]))
    sen = theil_sen(kept) if len(kept) >= FEWEST_POINTS else None
    if sen is None:
        return None
    blocks = [theil_sen(kept[begin : end + 1]) for begin, end in pairwise(block_edges(len(kept)))]
    slopes = [block.value for block in blocks if block]
    return trend_along(kept, sen, slopes, after_drop=kept[0] != points[0])


def block_edges(points: int) -> list[int]:
    """Return where blocks begin and end; each begins with the last point of the one before."""
    blocks = min(MOST_BLOCKS, (points - 1) // 2)
    return [round(place * (points - 1) / blocks) for place in range(blocks + 1)]


def trend_along(
    points: Sequence[Point], sen: Slope, block_slopes: Sequence[float], *, after_drop: bool
) -> Trend:
    """Return the trend through points of which the slopes are known: of all together, and of each block."""
    last_seconds = points[-1][0]
    level = sen.value * last_seconds + median(y - sen.value * x for x, y in points[-LAST:])
    low, high = _students_interval(block_slopes)
    slope = Slope(sen.value, min(sen.low, low), max(sen.high, high))
    return Trend(slope, level, len(points), last_seconds - points[0][0], after_drop)


def _students_interval(slopes: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval of the mean slope of blocks."""
    if len(slopes) < min(STUDENT):
        return -math.inf, math.inf
    half = STUDENT[len(slopes)] * stdev(slopes) / math.sqrt(len(slopes))
    return fmean(slopes) - half, fmean(slopes) + half
