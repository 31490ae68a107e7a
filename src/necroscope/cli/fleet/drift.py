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
from necroscope.cli.fleet.asking import add_question, asked_fleet, read_host_names
from necroscope.cli.screen import Screen
from necroscope.errors import UsageError
from necroscope.fleet.packages import needs_packages
from necroscope.model.timestamp import iso_utc

if TYPE_CHECKING:
    from necroscope.fleet.questions.drift_facts import FactOfGroup
    from necroscope.model.drift import Drift


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet drift` understands."""
    add_question(parser)
    parser.add_argument(
        "--failing",
        metavar="FILE or FACT=VALUE",
        help="a file with the names of the failing hosts, one a line; or what they have: zone=us-east-1a, "
        "kernel/release=5.4.0-99 (default: those with an event)",
    )
    parser.add_argument("--all", action="store_true", help="list incidental differences, too")


def run(arguments: argparse.Namespace) -> Answer:
    """Compare."""
    if arguments.failing and arguments.kind:
        raise UsageError("--failing says who fails, and --kind does so too", hint="one of them")
    with needs_packages():
        from necroscope.fleet.questions.drift import conclude_drift
        from necroscope.fleet.questions.drift_hosts import gather_hosts

        failing = _failing(arguments.failing) if arguments.failing else None
    with asked_fleet(arguments) as fleet:
        hosts = gather_hosts(fleet.tables, fleet.engine, fleet.kinds, *fleet.span_us)
        drift = conclude_drift(fleet.tables, hosts, fleet.kinds, failing)
    asked: dict[str, Any] = {
        "begin": iso_utc(fleet.begin_us * 1000),
        "end": iso_utc(fleet.end_us * 1000),
        "kinds": [] if failing else list(fleet.kinds),
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
        return read_host_names(path)
    fact, equals, value = word.partition("=")
    if not (fact and equals):
        raise UsageError(f"'{word}' is neither a file nor FACT=VALUE", hint="--failing zone=us-east-1a")
    section, slash, name = fact.partition("/")
    return (
        FactOfGroup(section, name, value)
        if slash and section in SECTIONS
        else FactOfGroup("labels", fact, value)
    )
