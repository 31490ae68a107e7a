"""A quantity as it was recorded: how much of it came in every stretch between two readings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from necroscope.statistics.normal import Z_95
from necroscope.statistics.theil_sen import MOST_BLOCKS, STUDENT

BLOCKS = (12, 8, 6, 4)  # into how many a window is cut; with fewer nobody knows what is chance
SPANS_A_BLOCK = 2
HALF = 0.5
ROUNDING = 0.1  # windows are seldom whole multiples of each other


@dataclass(frozen=True, slots=True)
class Span:
    """The time between two readings, and what came in it."""

    begin_ns: int  # UTC
    seconds: float
    amount: float


@dataclass(frozen=True, slots=True)
class Spans:
    """All that was seen of a quantity in a window. Gaps are not in it."""

    spans: tuple[Span, ...]
    why_none: str = ""  # where there are none

    @property
    def seconds(self) -> float:
        """How long was looked."""
        return math.fsum(span.seconds for span in self.spans)

    @property
    def amount(self) -> float:
        """How much came in all."""
        return math.fsum(span.amount for span in self.spans)

    @property
    def per_second(self) -> float:
        """The mean rate."""
        return self.amount / self.seconds if self.spans else 0.0


def variance_of(spans: Spans, like_seconds: float | None = None) -> float | None:
    """How unevenly something came: the variance of what comes in a second. None: too short to know.

    What was seen is cut into blocks, twelve and fewer, and these are compared. Seconds are not independent of
    each other, since trouble comes in bursts: where longer blocks differ more, these are right, and the whole
    window would differ more still from the next. It is made larger by what Student's distribution has beyond
    the normal one, being known from a few blocks only.

    `like_seconds` is how long the other window is: blocks of that length, where there are enough of them,
    show what such a window may meet of something that comes once a minute.
    """
    counts = [count for count in BLOCKS if count * SPANS_A_BLOCK <= len(spans.spans)]
    if not counts:
        return None
    variances = [_block_variance(spans, count) for count in counts]
    found = [max(variances) * _beyond_normal(counts[0]), _of_the_whole(counts, variances)]
    alike = int(spans.seconds / like_seconds + ROUNDING) if like_seconds else 0
    if min(BLOCKS) <= alike <= len(spans.spans) // SPANS_A_BLOCK:
        found.append(_block_variance(spans, alike) * _beyond_normal(alike))
    return max(found)


def _of_the_whole(counts: Sequence[int], variances: Sequence[float]) -> float:
    """The variance of blocks as long as the window, if it grows with their length as it does below that."""
    if len(counts) < 2 or not variances[0] or variances[-1] <= variances[0]:
        return 0.0
    power = math.log(variances[-1] / variances[0]) / math.log(counts[0] / counts[-1])
    # 1 is one level that wanders; less than half of that is seen by chance in what does not.
    return float(variances[-1] * counts[-1] ** (2 * min(power, 1.0) - 1)) if power > HALF else 0.0


def _beyond_normal(blocks: int) -> float:
    return (STUDENT[min(blocks, MOST_BLOCKS)] / Z_95) ** 2


def _block_variance(spans: Spans, count: int) -> float:
    mean = spans.per_second
    edges = [round(place * len(spans.spans) / count) for place in range(count + 1)]
    blocks = [Spans(spans.spans[begin:end]) for begin, end in pairwise(edges)]
    squares = math.fsum((block.amount - mean * block.seconds) ** 2 / block.seconds for block in blocks)
    return squares / (count - 1)
