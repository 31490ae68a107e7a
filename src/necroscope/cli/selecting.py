"""The words by which verbs choose a stretch of time or samples, and what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from necroscope.cli.arguments import add_store, duration
from necroscope.cli.times import EventName, moment, moment_or_event
from necroscope.errors import NoSamplesError, NothingRecordedError, UsageError
from necroscope.profiles.window import Selection
from necroscope.recording.clock import Anchor
from necroscope.recording.store import Store, StoredSegment
from necroscope.recording.stored_events import find_event

SECOND_NS = 10**9
RECENT_NS = 600 * SECOND_NS
LONGEST_NS = 60 * SECOND_NS
AFTER_NS = SECOND_NS  # shown behind the moment: what an event set off


def add_range(parser: argparse.ArgumentParser) -> None:
    """-b and -e, for every verb that looks at a stretch of time."""
    time = "10m (ago), 14:00, 2026-04-15T10:02:11Z, an epoch, or +70s after the beginning"
    parser.add_argument("-b", "--begin", type=moment, metavar="T", help=f"begin: {time}")
    parser.add_argument("-e", "--end", type=moment, metavar="T", help="end")
    parser.add_argument("--host", help="recordings of this host only")


def choose_range(arguments: argparse.Namespace) -> tuple[list[StoredSegment], int, int]:
    """The recorded segments of a host and the range in UTC; without one, the last ten minutes there are."""
    stored = [segment for segment in Store(arguments.store).segments() if segment.boot_id]
    host = arguments.host or (max(stored, key=lambda s: s.end_ns).host if stored else "")
    stored = [segment for segment in stored if segment.host == host]
    if not stored:
        where = f"{arguments.store} has no recording{f' of {arguments.host}' if arguments.host else ''}"
        raise NothingRecordedError(where, hint="necroscope record makes one")
    begin_recorded_ns, end_recorded_ns = whole_seconds(stored)
    last_ns = newest(stored).end_ns
    end_ns = arguments.end.utc_ns(stored) if arguments.end else last_ns - last_ns % SECOND_NS
    first_ns = max(end_ns - RECENT_NS, begin_recorded_ns)
    begin_ns = arguments.begin.utc_ns(stored) if arguments.begin else first_ns
    if begin_ns >= end_ns and not (arguments.begin or arguments.end):
        raise NothingRecordedError(f"not a second of {host} is recorded yet", hint="try again in a second")
    if begin_ns >= end_ns:
        raise UsageError("the range ends before it begins")
    if not any(segment.begin_ns < end_ns and segment.end_ns > begin_ns for segment in stored):
        raise NothingRecordedError(
            f"nothing of {host} was recorded from {_utc(begin_ns)} to {_utc(end_ns)}",
            hint=f"the last recording ends at {_utc(end_recorded_ns)}",
        )
    return stored, begin_ns, end_ns


def newest(segments: Sequence[StoredSegment]) -> StoredSegment:
    """The segment that was recorded last, also where the wall clock was set back since."""
    last = max(segments, key=lambda segment: segment.end_ns)
    boot = [s for s in segments if last.boot_id and (s.host, s.boot_id) == (last.host, last.boot_id)]
    return max(boot, key=lambda segment: segment.begin_ns - segment.offset_ns, default=last)


def whole_seconds(segments: Sequence[StoredSegment]) -> tuple[int, int]:
    """The range that segments cover; of its first and last second there is only a part, which is left out."""
    first_ns = min(segment.begin_ns for segment in segments)
    last_ns = max(segment.end_ns for segment in segments)
    return first_ns + -first_ns % SECOND_NS, last_ns - last_ns % SECOND_NS


def _utc(ns: int) -> str:
    return Anchor(0, 0).iso(ns)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The filters and the range."""
    add_store(parser)
    add_range(parser)
    parser.add_argument(
        "--around",
        type=moment_or_event,
        metavar="EVENT_ID|T",
        help="the seconds before an event or a moment, and one after it",
    )
    parser.add_argument(
        "--window", type=duration, default=5.0, metavar="D", help="how many of them (default 5s)"
    )
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
    selection = Selection(
        begin_ns=0,
        end_ns=0,
        cpus=tuple(arguments.cpu),
        processes=tuple(arguments.process),
        threads=tuple(arguments.thread),
        events=tuple(arguments.event),
        idle=arguments.idle,
    )
    if arguments.around:
        return stored, _around(arguments, stored, selection)
    last = newest([segment for segment in stored if segment.has_profile] or stored)
    begin = arguments.begin.utc_ns([last]) if arguments.begin else last.begin_ns
    end = arguments.end.utc_ns([last]) if arguments.end else last.end_ns + 1
    if begin >= end:
        raise UsageError("the range ends before it begins")
    return stored, replace(selection, begin_ns=begin, end_ns=end)


def _around(
    arguments: argparse.Namespace, stored: Sequence[StoredSegment], selection: Selection
) -> Selection:
    """The seconds before an event are counted on the clock of its boot, whatever the wall clock did."""
    if arguments.begin or arguments.end:
        raise UsageError("--around and --begin or --end say two different things")
    after_ns = AFTER_NS
    if isinstance(arguments.around, EventName):
        event = find_event(stored, arguments.around.id)
        boot_id, offset_ns = event.segment.boot_id, event.segment.offset_ns
        selection = replace(selection, boot_id=boot_id, offset_ns=offset_ns)
        moment_ns = event.utc_ns
        # Of something that lasted, the time it lasted is what one wants to see.
        after_ns = max(AFTER_NS, min(int((event.event.seconds or 0) * 1e9), LONGEST_NS))
    else:
        moment_ns = arguments.around.utc_ns([stored[-1]])
    begin_ns = moment_ns - int(arguments.window * 1e9)
    return replace(selection, begin_ns=begin_ns, end_ns=moment_ns + after_ns)


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
