"""Two rates of the same quantity: is the second lower, and how sure is that?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from necroscope.model.amounts import time_text
from necroscope.model.verdict import Verdict
from necroscope.remedies.verify.judge import expected, judge, weigh
from necroscope.remedies.verify.quantities import Kind, Quantity
from necroscope.remedies.verify.spans import Spans, variance_of
from necroscope.remedies.verify.stretches import is_much_longer, is_usual
from necroscope.remedies.verify.time_needed import needed_seconds, shortest_seconds, time_to_show_an_end
from necroscope.statistics.gamma_poisson import Counted, probability_below, ratio_interval


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the two have to say to each other."""

    verdict: Verdict
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    probability_better: float | None = None
    needed_seconds: float | None = None
    why: str = ""


def compare_rates(quantity: Quantity, before: Spans, after: Spans) -> Outcome:
    """Judge a quantity that adds up."""
    if not before.spans or not after.spans:
        return _unseen(quantity, before, after)
    ratio = after.per_second / before.per_second if before.per_second > 0 else None
    if max(before.per_second, after.per_second) * quantity.per_seconds <= quantity.floor:
        return Outcome(Verdict.UNCHANGED, ratio, why="it was not troubled before, and is not now")
    pair = weigh(quantity, before, after)
    if pair is None:
        return Outcome(Verdict.INCONCLUSIVE, ratio, why=_too_short(quantity, before))
    return _with_chances(_judged(quantity, before, after, pair), ratio, pair)


def _judged(quantity: Quantity, before: Spans, after: Spans, pair: tuple[Counted, Counted]) -> Outcome:
    verdict = judge(quantity, *pair)
    is_rate = quantity.kind is not Kind.EVENTS
    is_chance = is_rate and (variance_of(after) is None or is_usual(verdict, before, after))
    if verdict is not Verdict.INCONCLUSIVE and not is_chance:
        return Outcome(verdict, why=_sure(quantity, verdict))
    # Where the time after shows how uneven it is, more of that does not make up for the time before.
    is_before_short = is_chance and is_much_longer(after, before)
    needed = None if is_before_short else needed_seconds(quantity, *pair, before)
    why = "it may be chance" if needed else _too_short_before(before)
    return Outcome(Verdict.INCONCLUSIVE, needed_seconds=needed, why=why)


def _with_chances(outcome: Outcome, ratio: float | None, pair: tuple[Counted, Counted]) -> Outcome:
    outcome = replace(outcome, ratio=ratio, probability_better=probability_below(1.0, *pair))
    if ratio is None:  # to what did not come at all, a ratio is that to the prior
        return outcome
    low, high = ratio_interval(*pair)
    return replace(outcome, low=low, high=high)


def _unseen(quantity: Quantity, before: Spans, after: Spans) -> Outcome:
    if not before.spans:
        return Outcome(Verdict.INCONCLUSIVE, why=f"before: {before.why_none}")
    seen, why = expected(quantity, before), f"after: {after.why_none}"
    needed = time_to_show_an_end(quantity, before, seen) if seen else None
    return Outcome(Verdict.INCONCLUSIVE, needed_seconds=needed, why=why)


def _too_short(quantity: Quantity, before: Spans) -> str:
    return (
        f"the {before.seconds:.0f} s before are too short to say what is usual:"
        f" it takes {shortest_seconds(quantity):.0f} s"
    )


def _too_short_before(before: Spans) -> str:
    return (
        f"it may be chance: the {time_text(before.seconds)} before are too short for trouble so uneven,"
        " and no longer window after would tell"
    )


def _sure(quantity: Quantity, verdict: Verdict) -> str:
    rare = quantity.kind is Kind.EVENTS
    match verdict:
        case Verdict.BETTER:
            return "it is sure to have halved" if rare else "it is sure to be lower, and clearly so"
        case Verdict.WORSE:
            return "it is sure to have doubled" if rare else "it is sure to be higher, and clearly so"
        case _:
            return "it is sure not to have halved"
