"""Two windows as numbers of independent events, and a verdict on their rates with the chance in both."""

from __future__ import annotations

import math

from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.quantities import Kind, Quantity
from necroscope.remedies.verify.spans import Spans, variance_of
from necroscope.statistics.gamma_poisson import MOST_EVENTS, Counted, middle_ratio, probability_below

SURE = 0.95
CLEAR = 0.8  # a rate that fell by less than a fifth has not fallen so that anybody would notice
HALF = 0.5
# Variance by mean of counts in blocks; of independent events it is seldom above that by chance.
BURSTS = 3.0
TWICE = 2.0  # its error: a mean above that is one


def judge(quantity: Quantity, before: Counted, after: Counted) -> Verdict:
    """Better or worse where that is sure and clear; unchanged where it is sure not to have halved.

    Of what was not troubled before, that says nothing: there it must also be sure not to have doubled.
    """
    below = {limit: probability_below(limit, before, after) for limit in (HALF, 1.0, 1 / HALF)}
    if quantity.kind is Kind.EVENTS:
        is_better, is_worse = below[HALF] > SURE, below[1 / HALF] < 1 - SURE
    else:
        # Both ends of the 95 % interval: either may be the one that chance gives.
        is_better, is_worse = below[1.0] > (1 + SURE) / 2, below[1.0] < (1 - SURE) / 2
        if is_better or is_worse:
            middle = middle_ratio(before, after)
            is_better, is_worse = is_better and middle < CLEAR, is_worse and middle > 1 / CLEAR
    # Of a second in which nothing came the prior alone would say that much may come in the next.
    is_better, is_worse = is_better and after.rate < before.rate, is_worse and after.rate > before.rate
    if is_better or is_worse:
        return Verdict.BETTER if is_better else Verdict.WORSE
    is_not_half = below[HALF] < 1 - SURE and after.rate > HALF * before.rate
    was_troubled = before.rate * quantity.per_seconds > quantity.floor
    is_same = is_not_half if was_troubled else below[1 / HALF] - below[HALF] > SURE
    return Verdict.UNCHANGED if is_same else Verdict.INCONCLUSIVE


def weigh(quantity: Quantity, before: Spans, after: Spans) -> tuple[Counted, Counted] | None:
    """Both with the size of what comes at once; None where the time before is too short to tell that.

    The larger size of the two counts for both: had the other been seen for longer, it would have met it.
    """
    if quantity.kind is Kind.EVENTS:
        lump = max(_group(before), _group(after))
        return Counted(before.amount, before.seconds, lump), Counted(after.amount, after.seconds, lump)
    alike = min(before.seconds, after.seconds)
    was, now = variance_of(before, alike), variance_of(after, alike)
    if was is None:
        return None
    seen = (before, was), (after, now or 0.0)
    both = (
        _counted(side, max(_lump(one, variance, side.per_second) for one, variance in seen))
        for side in (before, after)
    )
    return next(both), next(both)


def expected(quantity: Quantity, before: Spans, after_seconds: float | None = None) -> Counted | None:
    """The rate before alone, for a window after of some length; None where it is too short to tell."""
    if quantity.kind is Kind.EVENTS:
        return Counted(before.amount, before.seconds, _group(before)) if before.spans else None
    variance = variance_of(before, after_seconds)
    return None if variance is None else _counted(before, _lump(before, variance, before.per_second))


def _lump(spans: Spans, variance: float, elsewhere_per_second: float) -> float:
    """What comes at once, if it comes independently: the variance by the mean.

    A mean that is hardly more than its own error says nothing of the size: then noise was seen, which is the
    same at the rate elsewhere.
    """
    if not variance:
        return 0.0
    error = math.sqrt(variance / spans.seconds)
    mean = spans.per_second
    return variance / max(mean if mean > TWICE * error else max(mean, elsewhere_per_second), error)


def _counted(spans: Spans, lump: float) -> Counted:
    amount = max(spans.amount, 0.0)
    return Counted(amount, spans.seconds, max(lump, amount / MOST_EVENTS) or 1.0)


def _group(spans: Spans) -> float:
    """How many events come together; 1 where they come alone."""
    variance = variance_of(spans)
    index = variance / spans.per_second if variance and spans.amount else 1.0
    return index if index > BURSTS else 1.0
