"""What the longer of two windows shows by itself, in stretches as long as the shorter one."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.spans import Spans

LEAST_TIMES = 2.0  # as long as the shorter, or there are no stretches to speak of
SELDOM = 0.025  # at each end of the 95 %
WIDER = 5.0  # by the whole range where it is seen in five stretches, by a tenth in fifty
HALF = 0.5
MOST_STRETCHES = 500  # that are looked at: they overlap, and more of them tell nothing new
ROUNDING_SECONDS = 1e-6


@dataclass(frozen=True, slots=True)
class Range:
    """Between which rates stretches of a length lie, as far as few of them can tell."""

    low: float
    high: float


def is_usual(verdict: Verdict, before: Spans, after: Spans) -> bool:
    """Whether the longer window has stretches like the shorter one, so that nothing need have changed.

    Trouble that comes once a minute for ten seconds is missing from most windows of half a minute. That is
    not chance, and no distribution of events tells it.
    """
    if not is_much_longer(after, before):
        return is_usual_before(verdict, before, after.per_second, after.seconds)
    was, now = before.per_second, usual_range(after, before.seconds)
    match verdict:
        case Verdict.BETTER:
            return was <= now.high
        case Verdict.WORSE:
            return was >= now.low
        case Verdict.UNCHANGED:
            return HALF * was >= now.low
    return False


def is_much_longer(one: Spans, other: Spans) -> bool:
    """Whether one window has stretches to compare the other with."""
    return one.seconds >= LEAST_TIMES * other.seconds


def is_usual_before(verdict: Verdict, before: Spans, per_second: float, seconds: float) -> bool:
    """The same for a window after of which only the rate is known."""
    if before.seconds < LEAST_TIMES * seconds:
        return False
    was = usual_range(before, seconds)
    match verdict:
        case Verdict.BETTER:
            return per_second >= was.low
        case Verdict.WORSE:
            return per_second <= was.high
        case Verdict.UNCHANGED:
            return per_second <= HALF * was.high
    return False


def usual_range(spans: Spans, seconds: float) -> Range:
    """Where nearly all stretches of a length lie; wider where there are few that do not overlap."""
    rates = sorted(_rates(spans, seconds))
    left_out = int(SELDOM * len(rates))
    low, high = rates[left_out], rates[-1 - left_out]
    share = WIDER * seconds / spans.seconds
    if low > 0:  # what is never less than nothing wanders by ratios
        wider = (high / low) ** share
        return Range(low / wider, high * wider)
    return Range(low - share * (high - low), high + share * (high - low))


def _rates(spans: Spans, seconds: float) -> list[float]:
    ends = [0.0, *accumulate(span.seconds for span in spans.spans)]
    amounts = [0.0, *accumulate(span.amount for span in spans.spans)]
    found = []
    for begin in range(0, len(spans.spans), max(len(spans.spans) // MOST_STRETCHES, 1)):
        end = bisect_left(ends, ends[begin] + seconds - ROUNDING_SECONDS)
        if end == len(ends):
            break
        found.append((amounts[end] - amounts[begin]) / (ends[end] - ends[begin]))
    return found
