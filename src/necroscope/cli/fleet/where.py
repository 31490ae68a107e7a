"""Do events concentrate: by zone, image, instance type, kernel, driver, unit, or any other label.

necroscope fleet where --fleet s3://bucket/fleet -b 7d
necroscope fleet where -b 30d --kind soft-lockup --by labels/kernel --by sysctls/kernel.watchdog_thresh

The first line is the answer: in which hosts it happens how many times as often as in others, for each hour
that they were recorded. Hosts are counted and not events, because trouble repeats on the same host. A value
that only comes with another is told to follow it; values that the same hosts have cannot be told apart. Exit
code 1 means that something stands out, 0 that nothing does.
"""

from __future__ import annotations

import argparse

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
from necroscope.cli.fleet.where_text import where_text
from necroscope.errors import NothingRecordedError, UsageError
from necroscope.fleet.packages import needs_packages
from necroscope.model.fleet.concentration import Standing, Where
from necroscope.signals.thresholds import load_thresholds

FOUND = (Standing.CONCENTRATES, Standing.SPARED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet where` understands."""
    add_place(parser)
    add_range(parser)
    add_kinds(parser)
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="FACT",
        help="by this only: a label, or SECTION/NAME of a snapshot; may be given again",
    )
    parser.add_argument("--all", action="store_true", help="list values of which nothing was shown, too")
    add_engine(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Count, and compare."""
    begin_us, end_us = range_of(arguments)
    thresholds = load_thresholds(arguments.config)
    with needs_packages():
        from necroscope.fleet.questions.where import Sought, seek_where

        sought = Sought(kinds_of(arguments), begin_us, end_us, thresholds, tuple(arguments.by))
        tables = open_tables(arguments)
        with open_engine(arguments) as engine:
            where = seek_where(tables, engine, sought)
    _check(where, arguments.by)
    code = int(any(row.standing in FOUND for row in where.concentrations))
    return Answer(code, document_of(where), lambda screen: where_text(screen, where, every=arguments.all))


def _check(where: Where, by: list[str]) -> None:
    """Refuse to say that nothing stands out where nothing was looked at."""
    if not where.total.hosts:
        raise NothingRecordedError("no host was recorded in that time", hint="-b and -e choose another")
    known = {row.label for row in where.concentrations}
    for fact in by:
        if not known & {fact, f"labels/{fact}"}:
            raise UsageError(
                f"hosts cannot be compared by '{fact}': none has it, or all have the same",
                hint="--by labels/kernel, or SECTION/NAME as in a snapshot",
            )
