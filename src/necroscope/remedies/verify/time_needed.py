"""How long the window after a change has to be until something can be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.judge import CLEAR, expected, judge
from necroscope.remedies.verify.quantities import Kind, Quantity
from necroscope.remedies.verify.spans import BLOCKS, SPANS_A_BLOCK, Spans
from necroscope.remedies.verify.stretches import is_usual_before
from necroscope.statistics.gamma_poisson import Counted, rate_interval

LONGEST_SECONDS = 366 * 86400.0
LIKELY = 0.6  # the interval whose unfavourable end is reckoned with: with 80 % the rate is below it


def needed_seconds(
    quantity: Quantity, before: Counted, after: Counted, spans_before: Spans | None = None
) -> float | None:
    """How long the window after must be at least; None where no time would do.

    Reckoned with the rate seen after, and where less came than before, with the highest that it is likely to
    be. `spans_before` show how long trouble stays away without any change.
    """
    least = max(shortest_seconds(quantity), after.seconds)

    def shortest(rate: float) -> float | None:
        seen = Counted(rate, 1.0, after.lump)
        return _shortest(least, lambda seconds: _tells(quantity, before, seen.longer(seconds), spans_before))

    found = map(shortest, _rates(before, after))
    return max((seconds for seconds in found if seconds is not None), default=None)


def time_to_show_an_end(quantity: Quantity, spans: Spans, seen: Counted) -> float | None:
    """How long nothing of it has to come; `seen` is what `spans` amount to."""
    return needed_seconds(quantity, seen, Counted(0.0, 1.0, seen.lump), spans)


def shortest_seconds(quantity: Quantity) -> float:
    """What has to be seen of a quantity at least."""
    spans = 1 if quantity.kind is Kind.EVENTS else min(BLOCKS) * SPANS_A_BLOCK
    return spans * quantity.pace_seconds


def _tells(quantity: Quantity, before: Counted, after: Counted, spans: Spans | None) -> bool:
    """Whether a window after would do, as far as the time before shows what is usual in such a window."""
    if spans is None or quantity.kind is Kind.EVENTS:
        return judge(quantity, before, after) is not Verdict.INCONCLUSIVE
    seen = expected(quantity, spans, min(after.seconds, spans.seconds))
    lump = max(before.lump, after.lump, seen.lump if seen else 0.0)
    verdict = judge(quantity, replace(before, lump=lump), replace(after, lump=lump))
    is_usual = is_usual_before(verdict, spans, after.rate, after.seconds)
    return verdict is not Verdict.INCONCLUSIVE and not is_usual


def _rates(before: Counted, after: Counted) -> list[float]:
    _, likely = rate_interval(after, LIKELY)
    is_lower = after.amount > 0 and likely < CLEAR * before.rate
    return [after.rate, likely] if is_lower else [after.rate]


def _shortest(least: float, tells: Callable[[float], bool]) -> float | None:
    low = high = least
    while not tells(high):
        low, high = high, high * 1.5
        if low > LONGEST_SECONDS:
            return None
    while high - low > 0.01 * low:
        middle = (low + high) / 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high
