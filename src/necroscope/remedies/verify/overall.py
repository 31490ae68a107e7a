"""One verdict out of many: by the goals of the plan, where it has any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.model.amounts import listed, time_text
from necroscope.model.verdict import Comparison, Measure, Verdict
from necroscope.remedies.verify.quantities import (
    NIC_RESETS,
    OF_UNITS,
    QUANTITIES,
    RECLAIM,
    SATURATED_CORE_SECONDS,
    SOFTIRQ_DELAY,
    THROTTLING,
)

NEVER = "no window would do"
# What users feel: where one of these is surely worse, it was no help whatever else got better.
HARMS = frozenset(one.id for one in (NIC_RESETS, SATURATED_CORE_SECONDS, SOFTIRQ_DELAY, THROTTLING, RECLAIM))
# Each that is no goal is one more chance to err: half of 5 % for all of them together.
SURELY_WORSE = 0.025 / len(HARMS)


@dataclass(frozen=True, slots=True)
class Overall:
    """What is said of all together."""

    verdict: Verdict
    summary: str
    needed_seconds: float | None


def overall(comparisons: Sequence[Comparison], treated: Sequence[str], ended_by: str = "") -> Overall:
    """Judge by the goals; without any, by all that was troubled before. What got worse always counts.

    `ended_by` says why no more time after the change will count.
    """
    goals = _goals(comparisons, treated)
    harmed = [one for one in comparisons if _is_harm(one) and one not in goals]
    judged = [one for one in goals if was_troubled(one)] + harmed
    if not judged:
        unseen = [one for one in goals if one.before is None]
        why = unseen[0].why if unseen else "nothing of it was troubled in the time before"
        return Overall(Verdict.INCONCLUSIVE, f"there is nothing to judge by: {why}", None)
    by_verdict = {verdict: [one for one in judged if one.verdict is verdict] for verdict in Verdict}
    verdict = _verdict(judged, by_verdict)
    needed = [one.needed_seconds for one in by_verdict[Verdict.INCONCLUSIVE] if one.needed_seconds]
    is_open = verdict is Verdict.INCONCLUSIVE
    others = [one for one in comparisons if one.verdict is Verdict.WORSE and one not in judged]
    also = f"; but {_names(others)} got worse" if others else ""
    summary = f"{_summary(verdict, by_verdict, ended_by)}{also}"
    return Overall(verdict, summary, min(needed, default=None) if is_open else None)


def _is_harm(comparison: Comparison) -> bool:
    """Whether something that users feel is so surely worse that it counts without being a goal."""
    is_worse = comparison.verdict is Verdict.WORSE and comparison.quantity in HARMS
    better = comparison.probability_better
    return is_worse and (better is None or better < SURELY_WORSE)


def was_troubled(comparison: Comparison) -> bool:
    """Whether there was something to get better or worse, or that cannot be told."""
    floor = QUANTITIES[comparison.quantity].floor
    measures: list[Measure | None] = [comparison.before, comparison.after]
    return comparison.before is not None and any(one and one.value > floor for one in measures)


def _goals(comparisons: Sequence[Comparison], treated: Sequence[str]) -> list[Comparison]:
    goals = [one for one in comparisons if one.is_goal] or [
        one
        for one in comparisons
        if one.verdict is Verdict.WORSE or (one.before and one.before.value > QUANTITIES[one.quantity].floor)
    ]
    # That a unit which was stopped does not restart any more is what was done, not that it helped.
    done = [one for one in goals if one.quantity in OF_UNITS and one.subject in treated]
    return [one for one in goals if one not in done] or done


def _verdict(judged: Sequence[Comparison], by_verdict: dict[Verdict, list[Comparison]]) -> Verdict:
    if by_verdict[Verdict.WORSE]:
        return Verdict.WORSE
    better, unchanged = by_verdict[Verdict.BETTER], by_verdict[Verdict.UNCHANGED]
    if better and unchanged:  # the first goal is what somebody complained about
        return judged[0].verdict
    if better or unchanged:
        return Verdict.BETTER if better else Verdict.UNCHANGED
    return Verdict.INCONCLUSIVE


def _summary(verdict: Verdict, by_verdict: dict[Verdict, list[Comparison]], ended_by: str) -> str:
    better, unchanged, worse, open_ = (by_verdict[one] for one in Verdict)
    parts = []
    if worse:
        parts.append(f"{_names(worse)} got worse")
    if better:
        parts.append(f"{_names(better)} got better")
    if unchanged:
        parts.append(f"{_names(unchanged)} did not move")
    if open_:
        parts.append(_open(open_, ended_by))
    heads = {
        Verdict.BETTER: "it helped",
        Verdict.UNCHANGED: "it did not help",
        Verdict.WORSE: "it made things worse",
        Verdict.INCONCLUSIVE: "it cannot be told" + " yet" * any(one.needed_seconds for one in open_),
    }
    return f"{heads[verdict]}: {'; '.join(parts)}"


def _open(comparisons: Sequence[Comparison], ended_by: str) -> str:
    names: dict[str, list[str]] = {}
    for one in comparisons:
        names.setdefault(_until_told(one, ended_by), []).append(one.name)
    return "; ".join(f"{time} for {listed(some)}" for time, some in names.items())


def _until_told(comparison: Comparison, ended_by: str) -> str:
    if comparison.needed_seconds:
        return f"it takes a window of at least {time_text(comparison.needed_seconds)}"
    return f"{ended_by}, too soon" if ended_by and ended_by in comparison.why else NEVER


def _names(comparisons: Sequence[Comparison]) -> str:
    return listed([one.name for one in comparisons])
