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
from pathlib import Path
from typing import TYPE_CHECKING

from necroscope.cli.answer import Answer
from necroscope.cli.fleet.asking import (
    add_engine,
    add_kinds,
    add_place,
    add_range,
    kinds_of,
    open_engine,
    open_tables,
    range_of,
)
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.fleet.fixed_text import fixed_text
from necroscope.cli.times import moment
from necroscope.errors import UsageError
from necroscope.fleet.packages import needs_packages
from necroscope.model.verdict import Verdict
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.plain_files import MAX_LIST_BYTES, read_named

if TYPE_CHECKING:
    from necroscope.fleet.engine.engine import Engine
    from necroscope.fleet.questions.fixed_hosts import Changes, FactValue
    from necroscope.fleet.tables.opened import FleetTables

NOT_BETTER = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet fixed` understands."""
    add_place(parser)
    add_range(parser, "14d")
    add_kinds(parser)
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
    add_engine(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Find the hosts, count, and compare."""
    begin_us, end_us = range_of(arguments)
    _check(arguments, begin_us, end_us)
    thresholds = load_thresholds(arguments.config)
    with needs_packages():
        from necroscope.fleet.questions.fixed import Sought, ask_fixed

        tables = open_tables(arguments)
        sought = Sought(_what(arguments), kinds_of(arguments), begin_us, end_us, thresholds)
        with open_engine(arguments) as engine:
            changes = _changes(tables, engine, arguments)
            rollout = ask_fixed(tables, engine, changes, sought)
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


def _changes(tables: FleetTables, engine: Engine, arguments: argparse.Namespace) -> Changes:
    """Who was changed when, and who not."""
    from necroscope.fleet.questions.fixed_hosts import Changes, changes_of_fact, hosts_with, recorded_hosts

    span = range_of(arguments)
    if arguments.fact:
        changes = changes_of_fact(tables, engine, _fact_value(arguments.fact, "--fact"), *span)
    else:
        at_us = _at_us(arguments)
        if arguments.hosts:
            chosen = _read_names(arguments.hosts)
            others = recorded_hosts(tables, engine, *span) - chosen
        else:
            label = _fact_value(f"labels/{arguments.label.removeprefix('labels/')}", "--label")
            chosen, others = hosts_with(tables, engine, label, *span)
        changes = Changes(dict.fromkeys(chosen, (at_us, at_us)), others)
    if not arguments.control:
        return changes
    control = _control(tables, engine, arguments) - changes.changed.keys()
    return Changes(changes.changed, frozenset(control), changes.note)


def _control(tables: FleetTables, engine: Engine, arguments: argparse.Namespace) -> frozenset[str]:
    from necroscope.fleet.questions.fixed_hosts import hosts_with

    if "=" in arguments.control and not Path(arguments.control).exists():
        return hosts_with(tables, engine, _fact_value(arguments.control, "--control"), *range_of(arguments))[
            0
        ]
    return _read_names(Path(arguments.control))


def _fact_value(text: str, option: str) -> FactValue:
    from necroscope.fleet.questions.fixed_hosts import FactValue

    fact, equals, value = text.partition("=")
    if not equals or not fact:
        raise UsageError(f"{option} '{text}' is not NAME=VALUE", hint="units/ecs.service/enabled=disabled")
    return FactValue(fact, value)


def _read_names(path: Path) -> frozenset[str]:
    """The hosts in a file; # begins a comment."""
    try:
        lines = read_named(path, MAX_LIST_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or 'not text'}") from error
    return frozenset(filter(None, (line.partition("#")[0].strip() for line in lines)))
