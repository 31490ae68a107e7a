"""What ran in the seconds before events across the fleet, against the quiet seconds of the same hosts.

necroscope fleet culprit -b 7d                     what the NIC resets of a week have in common
necroscope fleet culprit --kind soft-lockup --window 10s

Every event whose samples were shipped is looked at by itself, as `necroscope culprit` does it; then it is
counted on how many hosts somebody stood out, against what chance would do. A host with a hundred events is
one host. Exit code 1 means that something is common to more hosts than chance gives, 0 that nothing is.
"""

from __future__ import annotations

import argparse

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import (
    add_engine,
    add_kinds,
    add_place,
    add_range,
    kinds_of,
    open_engine,
    open_tables,
    place_address,
    range_of,
)
from necroscope.cli.fleet.culprit_text import culprit_text
from necroscope.cli.fleet.documents import document_of
from necroscope.fleet.packages import needs_packages
from necroscope.signals.thresholds import load_thresholds

LONGEST_WINDOW_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet culprit` understands."""
    add_place(parser)
    add_range(parser)
    add_kinds(parser)
    parser.add_argument(
        "--window", type=window_length, default=5.0, metavar="D", help="seconds before an event (default 5s)"
    )
    parser.add_argument(
        "--most",
        type=event_count,
        default=200,
        metavar="N",
        help="events to look at, the newest of every host first (default 200)",
    )
    add_engine(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Look at every event, and put it together."""
    begin_us, end_us = range_of(arguments)
    thresholds = load_thresholds(arguments.config)
    with needs_packages():
        from necroscope.fleet.place.place import open_place
        from necroscope.fleet.questions.culprit import CulpritWish, ask_culprit

        wish = CulpritWish(arguments.window, arguments.most, thresholds)
        place, tables = open_place(place_address(arguments)), open_tables(arguments)
        with open_engine(arguments) as engine:
            found = ask_culprit(tables, engine, place, kinds_of(arguments), begin_us, end_us, wish)
    stands_out = any(suspect.is_significant for suspect in found.suspects)
    return Answer(int(stands_out), document_of(found), lambda screen: "\n".join(culprit_text(screen, found)))


def window_length(text: str) -> float:
    """The seconds before an event."""
    seconds = duration(text)
    if not 1 <= seconds <= LONGEST_WINDOW_SECONDS:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 1s and {LONGEST_WINDOW_SECONDS:g}s")
    return seconds


def event_count(text: str) -> int:
    """How many events to look at."""
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of events")
    return int(text)
