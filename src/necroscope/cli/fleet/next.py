"""When each host reaches the wall, the soonest first: so many memory cgroups that it hurts there.

necroscope fleet next --fleet s3://bucket/fleet
necroscope fleet next -b 12h --within 30d --json

The trend of every host is taken from the range (6 to 24 hours are good), since its last boot or purge; a
count that merely wanders has none. `necroscope zombies` says the same on the host, and what makes it grow.
Exit code 1 means that a host is beyond the wall, or reaches it within the time of --within; 0 that none does.
"""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import add_engine, add_place, add_range, open_engine, open_tables, range_of
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.fleet.next_text import is_near, next_text
from necroscope.errors import NothingRecordedError
from necroscope.fleet.packages import needs_packages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet next` understands."""
    add_place(parser)
    add_range(parser, "24h")
    parser.add_argument(
        "--within", type=duration, default="7d", metavar="D", help="what is soon (default %(default)s)"
    )
    parser.add_argument("--all", action="store_true", help="list all hosts, not the first twenty")
    add_engine(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Gather, and reckon."""
    begin_us, end_us = range_of(arguments)
    with needs_packages():
        from necroscope.fleet.questions.next import ask_next

        tables = open_tables(arguments)
        with open_engine(arguments) as engine:
            found = ask_next(tables, engine, begin_us, end_us)
    if not found.hosts:
        raise NothingRecordedError("no host was recorded in that time", hint="-b and -e choose another")
    within = arguments.within
    near = sum(is_near(one, within) for one in found.forecasts)
    body = {**document_of(found), "within_seconds": within, "near": near}
    return Answer(int(near > 0), body, lambda screen: next_text(screen, found, within, every=arguments.all))
