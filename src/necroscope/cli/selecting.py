"""The words by which `scope` and `flame` choose samples, and what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from necroscope.cli.arguments import duration
from necroscope.cli.times import moment
from necroscope.errors import NoSamplesError, UsageError
from necroscope.profiles.window import Selection
from necroscope.recording.clock import Anchor
from necroscope.recording.store import Store, StoredSegment, default_store

AFTER_NS = 10**9  # shown behind the moment: what an event set off


def add_store(parser: argparse.ArgumentParser) -> None:
    """--store, for every verb that reads or writes recordings."""
    parser.add_argument(
        "--store", type=Path, default=default_store(), help="where recordings are (default %(default)s)"
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The filters and the range."""
    add_store(parser)
    time = "10m (ago), 14:00, 2026-04-15T10:02:11Z, an epoch, or +70s after the beginning"
    parser.add_argument("-b", "--begin", type=moment, metavar="T", help=f"begin: {time}")
    parser.add_argument("-e", "--end", type=moment, metavar="T", help="end")
    parser.add_argument(
        "--around", type=moment, metavar="T", help="the seconds before a moment, and one after it"
    )
    parser.add_argument(
        "--window", type=duration, default=5.0, metavar="D", help="how many of them (default 5s)"
    )
    parser.add_argument("--host", help="recordings of this host only")
    parser.add_argument("--cpu", type=_cpus, default=(), metavar="N,N-M", help="these cores only")
    parser.add_argument(
        "--process", action="append", default=[], metavar="NAME|PID", help="these processes only"
    )
    parser.add_argument(
        "--thread", action="append", default=[], metavar="NAME|TID", help="these threads only"
    )
    parser.add_argument("--event", action="append", default=[], metavar="NAME", help="these events only")
    parser.add_argument("--idle", action="store_true", help="count samples of idle cores too")


def choose(arguments: argparse.Namespace) -> tuple[list[StoredSegment], Selection]:
    """The segments and the selection that the words mean; without a range, the newest segment."""
    stored = [s for s in Store(arguments.store).segments() if arguments.host in (None, s.host)]
    if not stored:
        where = f"{arguments.store}" + (
            f" has none of host {arguments.host}" if arguments.host else " has no profile"
        )
        raise NoSamplesError(where, hint="necroscope import FILE adds a capture")
    begin, end = _range(arguments, stored)
    if begin >= end:
        raise UsageError("the range ends before it begins")
    selection = Selection(
        begin_ns=begin,
        end_ns=end,
        cpus=tuple(arguments.cpu),
        processes=tuple(arguments.process),
        threads=tuple(arguments.thread),
        events=tuple(arguments.event),
        idle=arguments.idle,
    )
    return stored, selection


def _range(arguments: argparse.Namespace, stored: Sequence[StoredSegment]) -> tuple[int, int]:
    newest = stored[-1]
    if arguments.around:
        if arguments.begin or arguments.end:
            raise UsageError("--around and --begin or --end say two different things")
        moment_ns = arguments.around.utc_ns([newest])
        return moment_ns - int(arguments.window * 1e9), moment_ns + AFTER_NS
    begin = arguments.begin.utc_ns([newest]) if arguments.begin else newest.begin_ns
    end = arguments.end.utc_ns([newest]) if arguments.end else newest.end_ns + 1
    return begin, end


def describe(selection: Selection, host: str) -> str:
    """A selection in words, for a title."""
    utc = Anchor(0, 0)
    parts = [host, f"{selection.seconds:.3g} s until {utc.iso(selection.end_ns)}"]
    if selection.cpus:
        parts.append(f"core {','.join(map(str, selection.cpus))}")
    for what, names in (
        ("process", selection.processes),
        ("thread", selection.threads),
        ("event", selection.events),
    ):
        if names:
            parts.append(f"{what} {', '.join(names)}")
    return ", ".join(parts)


def _cpus(text: str) -> tuple[int, ...]:
    from necroscope.sources.host import parse_core_list

    try:
        return parse_core_list(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of cores such as 5 or 0-3,8") from error
