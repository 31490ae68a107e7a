"""Which differences explain failing and healthy hosts, the likeliest to matter first.

necroscope fleet drift -b 7d                                hosts with NIC resets against hosts without
necroscope fleet drift --kind oom-kill --kind soft-lockup
necroscope fleet drift --failing zone=us-east-1a            what else is special about a zone

Failing are the hosts with an event in the range, healthy those without one that were recorded for at least
half of it; or --failing says who they are. They are compared as `necroscope drift` compares snapshots.
Exit code 1 means that there is a difference that matters, 0 that there is none.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from necroscope.cli.answer import Answer
from necroscope.cli.drift import drift_document, drift_text
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
from necroscope.cli.screen import Screen
from necroscope.errors import UsageError
from necroscope.fleet.packages import needs_packages
from necroscope.model.timestamp import iso_utc
from necroscope.sources.host import read_whole

if TYPE_CHECKING:
    from necroscope.fleet.questions.drift_facts import FactOfGroup
    from necroscope.model.drift import Drift


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet drift` understands."""
    add_place(parser)
    add_range(parser)
    add_kinds(parser)
    parser.add_argument(
        "--failing",
        metavar="FILE or FACT=VALUE",
        help="a file with the names of the failing hosts, one a line; or what they have: zone=us-east-1a, "
        "kernel/release=5.4.0-99 (default: those with an event)",
    )
    parser.add_argument("--all", action="store_true", help="list incidental differences, too")
    add_engine(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Compare."""
    begin_us, end_us = range_of(arguments)
    kinds = kinds_of(arguments)
    if arguments.failing and arguments.kind:
        raise UsageError("--failing says who fails, and --kind does so too", hint="one of them")
    with needs_packages():
        from necroscope.fleet.questions.drift import conclude_drift
        from necroscope.fleet.questions.drift_hosts import gather_hosts

        failing = _failing(arguments.failing) if arguments.failing else None
        tables = open_tables(arguments)
        with open_engine(arguments) as engine:
            hosts = gather_hosts(tables, engine, kinds, begin_us, end_us)
        drift = conclude_drift(tables, hosts, kinds, failing)
    asked: dict[str, Any] = {
        "begin": iso_utc(begin_us * 1000),
        "end": iso_utc(end_us * 1000),
        "kinds": [] if failing else list(kinds),
        "failing": arguments.failing,
    }
    code = int(any(difference.matters for difference in drift.differences))
    return Answer(
        code, {**asked, **drift_document(drift)}, lambda screen: "\n".join(_text(screen, drift, arguments))
    )


def _text(screen: Screen, drift: Drift, arguments: argparse.Namespace) -> list[str]:
    if not all(drift.groups.values()):  # one of them has no host
        return [screen.wrap(drift.note)]
    return list(drift_text(screen, drift, (), arguments.all))


def _failing(word: str) -> frozenset[str] | FactOfGroup:
    """Who fails: the names in a file, or what they have."""
    from necroscope.fleet.questions.drift_facts import FactOfGroup
    from necroscope.inventory.sections.catalog import SECTIONS

    path = Path(word)
    if path.is_file():
        return _names(path)
    fact, equals, value = word.partition("=")
    if not (fact and equals):
        raise UsageError(f"'{word}' is neither a file nor FACT=VALUE", hint="--failing zone=us-east-1a")
    section, slash, name = fact.partition("/")
    return (
        FactOfGroup(section, name, value)
        if slash and section in SECTIONS
        else FactOfGroup("labels", fact, value)
    )


def _names(path: Path) -> frozenset[str]:
    try:
        lines = read_whole(path).decode().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text") from error
    names = frozenset(name for line in lines if (name := line.partition("#")[0].strip()))
    if not names:
        raise UsageError(f"{path} names no host", hint="one a line")
    return names
