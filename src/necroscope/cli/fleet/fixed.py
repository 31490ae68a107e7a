"""Did a roll-out help: hosts before and after it, against hosts without it at the same time.

necroscope fleet fixed --fact units/ecs.service/enabled=disabled -b 14d
necroscope fleet fixed --hosts changed.txt --at 2026-11-12T10:00Z --control others.txt
necroscope fleet fixed --label kubernetes/node-group=train --at 3d

With --fact each host counts by its own time of change, as its facts tell. Without --control all other hosts
are compared; where the changed ones were picked because they were bad, those that were as bad. Exit codes:
0 better, 4 not better or not yet to be told, 3 nothing to compare.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from necroscope.cli.answer import Answer
from necroscope.cli.fleet.asking import AskedFleet, add_question, asked_fleet, range_of, read_host_names
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.screen import Screen
from necroscope.cli.times import moment
from necroscope.errors import UsageError
from necroscope.model.amounts import amount_text, listed
from necroscope.model.fleet.rollout import Period, Rollout
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Verdict

if TYPE_CHECKING:
    from necroscope.fleet.questions.fixed_hosts import Changes, FactValue

STYLES = {"better": "good", "worse": "critical", "unchanged": "warning", "inconclusive": "bold"}
WEEK_HOURS = 168.0
NOT_BETTER = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet fixed` understands."""
    add_question(parser, "14d")
    parser.add_argument("--at", type=moment, metavar="T", help="when it was rolled out")
    changed = parser.add_mutually_exclusive_group(required=True)
    changed.add_argument("--hosts", type=Path, metavar="FILE", help="the changed hosts, a name a line")
    changed.add_argument(
        "--fact", metavar="FACT=VALUE", help="hosts that got this value, each at its own time"
    )
    changed.add_argument("--label", metavar="KEY=VALUE", help="hosts with this label were changed")
    parser.add_argument(
        "--control", metavar="FILE or FACT=VALUE", help="compare with these only (default: all other hosts)"
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Find the hosts, count, and compare."""
    _check(arguments, *range_of(arguments))
    with asked_fleet(arguments) as fleet:
        from necroscope.fleet.questions.fixed import Sought, ask_fixed

        sought = Sought(_what(arguments), fleet.kinds, *fleet.span_us, fleet.thresholds)
        rollout = ask_fixed(fleet.tables, fleet.engine, _changes(fleet, arguments), sought)
    code = 0 if rollout.verdict == Verdict.BETTER.value else NOT_BETTER
    return Answer(code, document_of(rollout), lambda screen: fixed_text(screen, rollout))


def _check(arguments: argparse.Namespace, begin_us: int, end_us: int) -> None:
    if arguments.fact and arguments.at:
        raise UsageError("--fact knows when each host changed: --at is for --hosts and --label")
    if not arguments.fact and not arguments.at:
        raise UsageError(
            "when was it rolled out?", hint="--at 2026-11-12T10:00Z, or --at 3d for three days ago"
        )
    if arguments.at and not begin_us < _at_us(arguments) < end_us:
        raise UsageError("--at must lie within the range", hint="-b and -e choose it")


def _at_us(arguments: argparse.Namespace) -> int:
    if arguments.at.after_begin:
        raise UsageError("a time with a plus sign counts from a recording, and a fleet has many")
    return int(arguments.at.ns // 1000)


def _what(arguments: argparse.Namespace) -> str:
    if arguments.hosts:
        return f"the hosts of {arguments.hosts.name}"
    return str(arguments.fact or f"hosts with {arguments.label}")


def _changes(fleet: AskedFleet, arguments: argparse.Namespace) -> Changes:
    """Who was changed when, and who not."""
    from necroscope.fleet.questions.fixed_hosts import Changes, changes_of_fact, hosts_with, recorded_hosts

    of_all = fleet.tables, fleet.engine
    if arguments.fact:
        changes = changes_of_fact(*of_all, _fact_value(arguments.fact, "--fact"), *fleet.span_us)
    else:
        at_us = _at_us(arguments)
        if arguments.hosts:
            chosen = read_host_names(arguments.hosts)
            others = recorded_hosts(*of_all, *fleet.span_us) - chosen
        else:
            label = _fact_value(f"labels/{arguments.label.removeprefix('labels/')}", "--label")
            chosen, others = hosts_with(*of_all, label, *fleet.span_us)
        changes = Changes(dict.fromkeys(chosen, (at_us, at_us)), others)
    if not arguments.control:
        return changes
    control = _control(fleet, arguments.control) - changes.changed.keys()
    return Changes(changes.changed, frozenset(control), changes.note)


def _control(fleet: AskedFleet, word: str) -> frozenset[str]:
    """Return the hosts to compare with: those of a file, or those with a fact."""
    from necroscope.fleet.questions.fixed_hosts import hosts_with

    if "=" in word and not Path(word).exists():
        return hosts_with(fleet.tables, fleet.engine, _fact_value(word, "--control"), *fleet.span_us)[0]
    return read_host_names(Path(word))


def _fact_value(text: str, option: str) -> FactValue:
    from necroscope.fleet.questions.fixed_hosts import FactValue

    fact, equals, value = text.partition("=")
    if not equals or not fact:
        raise UsageError(f"{option} '{text}' is not NAME=VALUE", hint="units/ecs.service/enabled=disabled")
    return FactValue(fact, value)


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
