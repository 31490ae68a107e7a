"""The words that the questions about a fleet have in common: the place, the range, the kinds, the engine."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from necroscope.cli.times import moment
from necroscope.errors import NothingRecordedError, UsageError
from necroscope.fleet.packages import needs_packages
from necroscope.model.event import EVENT_KINDS

if TYPE_CHECKING:
    from necroscope.fleet.engine.engine import Engine
    from necroscope.fleet.tables.opened import FleetTables

DAY_US = 86400 * 10**6
DEFAULT_KINDS = ("nic-reset",)
ENGINES = ("local", "ray")


def add_place(parser: argparse.ArgumentParser) -> None:
    """--fleet and --config, for all that use the place."""
    parser.add_argument(
        "--fleet", metavar="PLACE", help="a folder or s3://BUCKET/PREFIX (default: [fleet] place)"
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML (default /etc/necroscope/config.toml)"
    )


def add_range(parser: argparse.ArgumentParser, default: str = "7d") -> None:
    """-b and -e."""
    parser.add_argument(
        "-b", "--begin", type=moment, default=default, metavar="T", help="begin (default %(default)s ago)"
    )
    parser.add_argument("-e", "--end", type=moment, default="now", metavar="T", help="end (default now)")


def add_kinds(parser: argparse.ArgumentParser) -> None:
    """--kind, may be given again."""
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        choices=EVENT_KINDS,
        metavar="KIND",
        help=f"of events (default {', '.join(DEFAULT_KINDS)}); may be given again",
    )


def add_engine(parser: argparse.ArgumentParser) -> None:
    """--engine and the cluster."""
    parser.add_argument(
        "--engine", choices=ENGINES, default="local", help="who counts: this process, or a Ray cluster"
    )
    parser.add_argument(
        "--ray-address",
        default="auto",
        metavar="ADDRESS",
        help="the users' own cluster: auto, HOST:6379 or ray://HOST:10001; none is ever started or stopped",
    )


def range_of(arguments: argparse.Namespace) -> tuple[int, int]:
    """The range in microseconds, UTC."""
    begin, end = arguments.begin, arguments.end
    if begin.after_begin or end.after_begin:
        raise UsageError("a time with a plus sign counts from a recording, and a fleet has many")
    if begin.ns >= end.ns:
        raise UsageError("the range ends before it begins")
    return begin.ns // 1000, end.ns // 1000


def kinds_of(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The kinds of events that are meant."""
    return tuple(dict.fromkeys(arguments.kind)) or DEFAULT_KINDS


def place_address(arguments: argparse.Namespace) -> str:
    """Where the fleet is."""
    from necroscope.store.config import read_config

    path, document = read_config(arguments.config)
    address = arguments.fleet or document.get("fleet", {}).get("place", "")
    if not isinstance(address, str) or not address:
        raise UsageError("which fleet?", hint=f"--fleet PLACE, or [fleet] place in {path}")
    return address


def open_tables(arguments: argparse.Namespace) -> FleetTables:
    """The tables of the fleet. NothingRecordedError: nothing was ingested yet."""
    with needs_packages():
        from necroscope.fleet.place.place import open_place
        from necroscope.fleet.tables.reading import read_tables

        tables = read_tables(open_place(place_address(arguments)))
        if not tables.index.files:
            raise NothingRecordedError(
                f"{place_address(arguments)} has no tables yet", hint="necroscope fleet ingest makes them"
            )
        return tables


@contextmanager
def open_engine(arguments: argparse.Namespace) -> Iterator[Engine]:
    """Who counts, for as long as it takes."""
    with needs_packages():
        if arguments.engine == "ray":
            from necroscope.fleet.engine.ray_tasks import ray_engine

            with ray_engine(arguments.ray_address) as engine:
                yield engine
        else:
            from necroscope.fleet.engine.local import LocalEngine

            yield LocalEngine()


def now_us() -> int:
    """The time of day."""
    return time.time_ns() // 1000
