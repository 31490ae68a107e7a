"""A verdict on two rates, with the chance in both."""

from __future__ import annotations

from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.quantities import Kind, Quantity
from necroscope.statistics.gamma_poisson import Counted, middle_ratio, probability_below

SURE = 0.95
CLEAR = 0.8  # a rate that fell by less than a fifth has not fallen so that anybody would notice
HALF = 0.5


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
