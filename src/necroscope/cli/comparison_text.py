"""A quantity before and after a change, in words: `verify` and `report` say it alike."""

from __future__ import annotations

from necroscope.model.amounts import amount_text, time_text
from necroscope.model.verdict import Comparison, Measure
from necroscope.remedies.verify.quantities import QUANTITIES

SMALLEST, LARGEST = 0.001, 1000.0  # ratios beyond are not told exactly: nobody needs it
HARDLY_OPEN, MOST_SURE = 0.95, 0.999


def numbers_text(comparison: Comparison) -> str:
    """144,000 -> 10 cgroups/h; with the events, where it counts events."""
    before, after = comparison.before, comparison.after
    if before is None or after is None:
        return "not measured"
    events = [_events(one) for one in (before, after) if one.events is not None]
    how = QUANTITIES[comparison.quantity].counted if before.events or after.events else ""
    counted = f" ({'; '.join(filter(None, (', '.join(events), how)))})" if events else ""
    return f"{amount_text(before.value)} -> {amount_text(after.value)} {comparison.unit}{counted}"


def ratio_text(comparison: Comparison) -> str:
    """The ratio, where it lies, and how sure it is that it is lower; empty where that means nothing."""
    if comparison.low is None or comparison.high is None or comparison.probability_better is None:
        return ""
    ratio = f"ratio {_rounded(comparison.ratio)}" if comparison.ratio is not None else "ratio"
    between = f"{_rounded(comparison.low)} to {_rounded(comparison.high)}"
    return f"{ratio} (95 %: {between}); lower with {_percent(comparison.probability_better)}"


def why_text(comparison: Comparison) -> str:
    """Why the verdict is what it is, and what it takes to know more."""
    if not comparison.needed_seconds:
        return comparison.why
    return f"{comparison.why}; it takes a window of at least {time_text(comparison.needed_seconds)}"


def _events(measure: Measure) -> str:
    return f"{measure.events:,} in {time_text(measure.seconds)}"


def _percent(probability: float) -> str:
    if probability > MOST_SURE:
        return f"over {100 * MOST_SURE:.1f} %"
    return f"{100 * probability:.0f} %" if probability < HARDLY_OPEN else f"{100 * probability:.1f} %"


def _rounded(value: float) -> str:
    if value < SMALLEST:
        return "0"
    return f"over {LARGEST:,.0f}" if value > LARGEST else f"{value:.3g}"
