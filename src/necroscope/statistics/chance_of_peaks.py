"""How likely chance alone makes some seconds stand out: exact tests of what was counted.

Assumed is that, were the window like the quiet seconds, each of all these seconds might as well have been in
it. Then two chances can be counted out without knowing how loads are distributed: that the k highest of all
seconds lie in the window, and that so many of the high seconds do. Neighbouring seconds are alike where a
load comes in bursts, and then there are fewer independent seconds than seconds; what the quiet ones tell
about that is allowed for. A burst that is in no quiet second cannot be told from a cause by any test.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from necroscope.statistics.fisher import hypergeometric_tail

MOST_ALIKE = 0.95  # of neighbouring seconds; beyond it nothing could be told
TESTS = 2  # the better of two is taken, and paid for


def chance(window: Sequence[float], quiet: Sequence[float], neighbours: Sequence[tuple[int, int]]) -> float:
    """Return the probability that chance alone puts so much into the window.

    `neighbours` are pairs of places in `quiet` that follow each other within a second.
    """
    if not window or not quiet:
        return 1.0
    seconds = len(window) + len(quiet)
    above = seconds_above(window, quiet)
    all_above = hypergeometric_tail(above, len(window), above, seconds)
    # High is above the middle between the usual second and the highest, of all.
    limit = (median([*window, *quiet]) + max(*window, *quiet)) / 2
    inside, outside = (sum(value > limit for value in some) for some in (window, quiet))
    many_high = hypergeometric_tail(inside, len(window), inside + outside, seconds)
    lowest = min(all_above, many_high)
    return float(min(TESTS * lowest, 1.0) ** (1 / bursts(quiet, neighbours)))


def seconds_above(window: Sequence[float], quiet: Sequence[float]) -> int:
    """Return how many seconds of the window are above every quiet second."""
    highest = max(quiet, default=0.0)
    return sum(value > highest for value in window)


def bursts(quiet: Sequence[float], neighbours: Sequence[tuple[int, int]]) -> float:
    """Return how many seconds count as one, as neighbours are alike; 1 if they are not, or none is known."""
    mean = fmean(quiet)
    variance = fmean((value - mean) ** 2 for value in quiet)
    if not variance or not neighbours:
        return 1.0
    together = fmean((quiet[one] - mean) * (quiet[next_] - mean) for one, next_ in neighbours)
    alike = together / variance
    alike += (1 + 3 * alike) / len(quiet)  # short series look less alike than they are
    alike = min(max(alike, 0.0), MOST_ALIKE)
    return (1 + alike) / (1 - alike)
