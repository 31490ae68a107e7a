"""`fleet fixed` for people: the verdict, then the four numbers that it comes from."""

from __future__ import annotations

import math

from necroscope.cli.screen import Screen
from necroscope.model.amounts import amount_text, listed
from necroscope.model.fleet.rollout import Period, Rollout
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Verdict

STYLES = {"better": "good", "worse": "critical", "unchanged": "warning", "inconclusive": "bold"}
WEEK_HOURS = 168.0


def fixed_text(screen: Screen, rollout: Rollout) -> str:
    """All of it."""
    rows = [
        ("changed hosts", _group(rollout.changed_before, rollout.changed_after, rollout.ratio)),
        ("other hosts", _group(rollout.control_before, rollout.control_after, rollout.control_ratio)),
    ]
    lines = [
        screen.paint(screen.wrap(_first(rollout)), STYLES[rollout.verdict]),
        "",
        screen.table(rows),
        "",
        screen.wrap(
            f"Sure to be better: {_percent(rollout.p_better)}; to have halved: {_percent(rollout.p_halved)}. "
            f"From {iso_utc(rollout.at_us * 1000)} on."
        ),
    ]
    if rollout.days_needed is not None:
        needed = f"{amount_text(float(f'{rollout.days_needed:.2g}'))} more days without an episode"
        lines.append(screen.wrap(f"{needed} of the changed hosts would show that it is better."))
    if rollout.note:
        lines.append(screen.paint(screen.wrap(f"{rollout.note[0].upper()}{rollout.note[1:]}."), "dim"))
    return "\n".join(lines)


def _first(rollout: Rollout) -> str:
    what = listed(list(rollout.kinds))
    low, high = (_number(end) for end in rollout.interval)
    ratio = "?" if rollout.ratio_of_ratios is None else _number(rollout.ratio_of_ratios)
    numbers = f"{ratio} times [{low} to {high}] as often as the other hosts let expect"
    match Verdict(rollout.verdict):
        case Verdict.BETTER:
            return f"Better: after {rollout.what}, {what} comes {numbers}."
        case Verdict.WORSE:
            return f"Worse: after {rollout.what}, {what} comes {numbers}."
        case Verdict.UNCHANGED:
            return f"Unchanged: after {rollout.what}, {what} comes {numbers}."
        case Verdict.INCONCLUSIVE:
            return f"It cannot be told yet: after {rollout.what}, {what} comes {numbers}."


def _group(before: Period, after: Period, ratio: float | None) -> str:
    change = "" if ratio is None else f": {_number(ratio)} times as often"
    return (
        f"{before.episodes:,} episodes before ({_weekly(before)}), {after.episodes:,} after "
        f"({_weekly(after)}){change}; {before.hosts:,} hosts"
    )


def _weekly(period: Period) -> str:
    rate = period.episodes / period.host_hours * WEEK_HOURS if period.host_hours else 0.0
    return f"{amount_text(float(f'{rate:.2g}'))} per host and week"


def _percent(probability: float) -> str:
    if probability > 0.999:
        return "over 99.9 %"
    return f"{100 * probability:.1f} %" if probability >= 0.001 else "under 0.1 %"


def _number(value: float) -> str:
    return "any number" if math.isinf(value) else amount_text(float(f"{value:.2g}"))
