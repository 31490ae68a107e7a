"""A verification for people."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.cli.comparison_text import numbers_text, ratio_text, why_text
from necroscope.cli.screen import Screen
from necroscope.model.amounts import time_text
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Comparison, Verdict, Verification

STYLES = {
    Verdict.BETTER: "good",
    Verdict.UNCHANGED: "warning",
    Verdict.WORSE: "critical",
    Verdict.INCONCLUSIVE: "info",
}


def verification_lines(
    screen: Screen, host: str, verification: Verification, missing_seconds: float, again: str
) -> Iterator[str]:
    """The verdict, then the goals, then all else that was measured."""
    yield screen.paint(f"{host}: {verification.verdict.value}", STYLES[verification.verdict])
    yield screen.wrap(verification.summary, 2)
    what = verification.fix or "the change"
    yield screen.wrap(
        f"{time_text(verification.before_seconds)} before {what} and"
        f" {time_text(verification.after_seconds)} after it, which ended at"
        f" {iso_utc(verification.changed_ns)}",
        2,
    )
    goals = [one for one in verification.comparisons if one.is_goal]
    others = [one for one in verification.comparisons if not one.is_goal]
    for comparison in goals:
        yield ""
        yield from _goal_lines(screen, comparison)
    if others:
        yield ""
        yield screen.paint("Other quantities" if goals else "Quantities", "bold")
        yield screen.table((one.name, _short(one)) for one in others)
    if missing_seconds:
        yield ""
        yield screen.wrap(f"Interrupted: asked again it needs {time_text(missing_seconds)} more.")
    elif again:
        yield ""
        yield screen.wrap(f"To know more: {again}", hanging=14)


def _goal_lines(screen: Screen, comparison: Comparison) -> Iterator[str]:
    head = f"{comparison.name}: {comparison.verdict.value}"
    yield screen.paint(screen.wrap(head), STYLES[comparison.verdict])
    for line in (numbers_text(comparison), ratio_text(comparison), why_text(comparison)):
        if line:
            yield screen.wrap(line, 2)


def _short(comparison: Comparison) -> str:
    if comparison.before is None or comparison.after is None:
        return f"{numbers_text(comparison)}: {comparison.why}"
    return f"{comparison.verdict.value}: {numbers_text(comparison)}"
