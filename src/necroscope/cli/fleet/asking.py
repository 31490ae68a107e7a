"""What the questions about a fleet have in common: their options, the tables, and who counts."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from necroscope.cli.times import moment
from necroscope.errors import NothingRecordedError, UsageError
from necroscope.fleet.packages import needs_packages
from necroscope.model.event import EVENT_KINDS
from necroscope.signals.thresholds import Thresholds, load_thresholds
from necroscope.sources.plain_files import MAX_LIST_BYTES, read_named

if TYPE_CHECKING:
    from necroscope.fleet.engine.engine import Engine
    from necroscope.fleet.tables.fleet_tables import FleetTables

DEFAULT_KINDS = ("nic-reset",)
ENGINES = ("local", "ray")


@dataclass(frozen=True, slots=True)
class AskedFleet:
    """A fleet that is opened for one question, and what is asked about."""

    tables: FleetTables
    engine: Engine
    begin_us: int
    end_us: int
    kinds: tuple[str, ...]
    thresholds: Thresholds

    @property
    def span_us(self) -> tuple[int, int]:
        """Return the range in microseconds, UTC."""
        return self.begin_us, self.end_us


def add_question(
    parser: argparse.ArgumentParser, default_begin: str = "7d", *, of_events: bool = True
) -> None:
    """Add the options that all questions have; --kind only if the question is about events."""
    add_place(parser)
    add_range(parser, default_begin)
    if of_events:
        parser.add_argument(
            "--kind",
            action="append",
            default=[],
            choices=EVENT_KINDS,
            metavar="KIND",
            help=f"of events (default {', '.join(DEFAULT_KINDS)}); may be given again",
        )
    parser.add_argument(
        "--engine", choices=ENGINES, default="local", help="who counts: this process, or a Ray cluster"
    )
    parser.add_argument(
        "--ray-address",
        default="auto",
        metavar="ADDRESS",
        help="the users' own cluster: auto, HOST:6379 or ray://HOST:10001; none is ever started or stopped",
    )


@contextmanager
def asked_fleet(arguments: argparse.Namespace) -> Iterator[AskedFleet]:
    """Open the fleet for as long as its question takes. NothingRecordedError: nothing was ingested yet."""
    begin_us, end_us = range_of(arguments)
    kinds = tuple(dict.fromkeys(getattr(arguments, "kind", ()))) or DEFAULT_KINDS
    thresholds = load_thresholds(arguments.config)
    with needs_packages():
        tables = _open_tables(place_address(arguments))
        with _open_engine(arguments) as engine:
            yield AskedFleet(tables, engine, begin_us, end_us, kinds, thresholds)


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


def range_of(arguments: argparse.Namespace) -> tuple[int, int]:
    """The range in microseconds, UTC."""
    begin, end = arguments.begin, arguments.end
    if begin.after_begin or end.after_begin:
        raise UsageError("a time with a plus sign counts from a recording, and a fleet has many")
    if begin.ns >= end.ns:
        raise UsageError("the range ends before it begins")
    return begin.ns // 1000, end.ns // 1000


def place_address(arguments: argparse.Namespace) -> str:
    """Where the fleet is."""
    from necroscope.store.config import read_config

    path, document = read_config(arguments.config)
    address = arguments.fleet or document.get("fleet", {}).get("place", "")
    if not isinstance(address, str) or not address:
        raise UsageError("which fleet?", hint=f"--fleet PLACE, or [fleet] place in {path}")
    return address


def _open_tables(address: str) -> FleetTables:
    from necroscope.fleet.place.place import open_place
    from necroscope.fleet.tables.read_tables import read_tables

    tables = read_tables(open_place(address))
    if not tables.index.files:
        raise NothingRecordedError(f"{address} has no tables yet", hint="necroscope fleet ingest makes them")
    return tables


@contextmanager
def _open_engine(arguments: argparse.Namespace) -> Iterator[Engine]:
    if arguments.engine == "ray":
        from necroscope.fleet.engine.ray_tasks import ray_engine

        with ray_engine(arguments.ray_address) as engine:
            yield engine
    else:
        from necroscope.fleet.engine.engine import LocalEngine

        yield LocalEngine()


def read_host_names(path: Path) -> frozenset[str]:
    """Return the hosts in a file, one a line; # begins a comment."""
    try:
        lines = read_named(path, MAX_LIST_BYTES).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or 'not text'}") from error
    names = frozenset(name for line in lines if (name := line.partition("#")[0].strip()))
    if not names:
        raise UsageError(f"{path} names no host", hint="one a line")
    return names


def now_us() -> int:
    """The time of day."""
    return time.time_ns() // 1000
