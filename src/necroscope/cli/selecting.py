"""The words by which verbs choose a stretch of time or samples, and what they choose."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

from necroscope.cli.arguments import add_store, duration
from necroscope.cli.times import EARLIEST_NS, LATEST_NS, EventName, moment, moment_or_event
from necroscope.errors import NoSamplesError, NothingRecordedError, UsageError
from necroscope.model.shell_command import option, shell_command
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS, iso_utc, parse_compact_utc
from necroscope.profiles.window import Selection
from necroscope.store.store import Damage, Store, StoredSegment
from necroscope.store.store_place import store_of_root
from necroscope.store.stored_events import StoredEvent, find_event

RECENT_NS = 600 * SECOND_NS
LONGEST_NS = 60 * SECOND_NS
AFTER_NS = SECOND_NS  # shown behind the moment: what an event set off


def add_range(parser: argparse.ArgumentParser) -> None:
    """-b and -e, for every verb that looks at a stretch of time."""
    time = "10m (ago), 14:00, 2026-04-15T10:02:11Z, an epoch, or +70s after the beginning"
    parser.add_argument("-b", "--begin", type=moment, metavar="T", help=f"begin: {time}")
    parser.add_argument("-e", "--end", type=moment, metavar="T", help="end")
    parser.add_argument("--host", help="recordings of this host only")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The recorded segments of a host, a range of time, and what is damaged."""

    host: str
    segments: list[StoredSegment]
    time: TimeRange
    damaged: list[Damage]

    def require_whole(self, damaged: Sequence[Damage]) -> None:
        """An error where nothing in the range could be read."""
        bad = {damage.folder: damage for damage in damaged}
        inside = [
            s.folder for s in self.segments if s.begin_ns < self.time.end_ns and s.end_ns > self.time.begin_ns
        ]
        if inside and bad.keys() >= set(inside):
            raise bad[inside[0]].error


def choose_range(arguments: argparse.Namespace) -> Chosen:
    """What the words mean; without a range, the last ten minutes there are, to the last nanosecond."""
    store = Store(arguments.store)
    stored = [segment for segment in store.segments() if segment.boot_id]
    host = arguments.host or (max(stored, key=lambda s: s.end_ns).host if stored else "")
    stored = [segment for segment in stored if segment.host == host]
    damaged = _damaged_of(store, host, sure=bool(arguments.host))
    if not stored:
        if damaged:
            raise damaged[0].error
        where = f"{arguments.store} has no recording{f' of {arguments.host}' if arguments.host else ''}"
        raise NothingRecordedError(where, hint=_where_else(arguments, "necroscope record makes one"))
    last_ns = newest(stored).end_ns
    end_ns = arguments.end.utc_ns(stored) if arguments.end else last_ns + 1
    recent_ns = (end_ns if arguments.end else last_ns) - RECENT_NS
    first_ns = max(recent_ns, min(segment.begin_ns for segment in stored))
    begin_ns = arguments.begin.utc_ns(stored) if arguments.begin else first_ns
    if begin_ns >= end_ns and arguments.begin and arguments.end:
        raise UsageError("the range ends before it begins")
    time = TimeRange(begin_ns, end_ns)
    if begin_ns >= end_ns or not any(segment.overlaps(time) for segment in stored):
        for damage in damaged:
            if begin_ns - RECENT_NS <= _named_ns(damage) < end_ns:
                raise damage.error
        when = _in_words(arguments, begin_ns, end_ns)
        raise NothingRecordedError(
            f"nothing of {host} was recorded {when}", hint=_what_there_is(stored, begin_ns)
        )
    return Chosen(host, stored, time, damaged)


def _in_words(arguments: argparse.Namespace, begin_ns: int, end_ns: int) -> str:
    begin, end = iso_utc(begin_ns), iso_utc(end_ns)
    if not arguments.end:
        return f"after {begin}"
    return f"from {begin} to {end}" if arguments.begin else f"before {end}"


def _what_there_is(segments: Sequence[StoredSegment], begin_ns: int) -> str:
    first_ns, last_ns = min(s.begin_ns for s in segments), max(s.end_ns for s in segments)
    seconds = "; an epoch is in seconds" if begin_ns >= LATEST_NS else ""
    return f"the first begins at {iso_utc(first_ns)}, the last recording ends at {iso_utc(last_ns)}{seconds}"


def _where_else(arguments: argparse.Namespace, hint: str) -> str:
    other = store_of_root(arguments.store)
    return (
        f"{hint}; {shell_command(option('--store', str(other)))} has those of the service" if other else hint
    )


def _damaged_of(store: Store, host: str, *, sure: bool) -> list[Damage]:
    """What may belong to a host; where none was named, the folder of any host that may not be read."""
    own = store.host_folder(host)
    return [
        damage
        for damage in store.damaged
        if not host
        or own in (damage.folder, damage.folder.parent)
        or (not sure and damage.folder.parent == store.root)
    ]


def _named_ns(damage: Damage) -> int:
    """When a segment began, by its name; its description is lost."""
    try:
        return parse_compact_utc(damage.folder.name[:16])
    except ValueError:
        return EARLIEST_NS


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


def add_moment(parser: argparse.ArgumentParser) -> None:
    """The store, the range, a moment instead of it, and the cores."""
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


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The filters and the range."""
    add_moment(parser)
    parser.add_argument(
        "--process", action="append", default=[], metavar="NAME|PID", help="these processes only"
    )
    parser.add_argument(
        "--thread", action="append", default=[], metavar="NAME|TID", help="these threads only"
    )
    parser.add_argument("--event", action="append", default=[], metavar="NAME", help="these events only")
    parser.add_argument("--idle", action="store_true", help="count samples of idle cores too")


def choose(arguments: argparse.Namespace) -> tuple[list[StoredSegment], Selection, list[Damage]]:
    """The segments of a host, the selection that the words mean, and what is damaged.

    Without a range it is the newest segment, without a host that of the event or of the newest segment.
    """
    store = Store(arguments.store)
    stored = [s for s in store.segments() if arguments.host in (None, s.host)]
    if not stored:
        if damaged := _damaged_of(store, arguments.host or "", sure=bool(arguments.host)):
            raise damaged[0].error
        where = f"{arguments.store}" + (
            f" has none of host {arguments.host}" if arguments.host else " has no profile"
        )
        raise NoSamplesError(where, hint=_where_else(arguments, "necroscope import FILE adds a capture"))
    selection = Selection(
        begin_ns=0,
        end_ns=0,
        cpus=tuple(arguments.cpu),
        processes=tuple(arguments.process),
        threads=tuple(arguments.thread),
        events=tuple(arguments.event),
        idle=arguments.idle,
    )
    last = newest([segment for segment in stored if segment.has_profile] or stored)
    if not arguments.around:
        host, selection = last.host, _between(arguments, last, selection)
    elif arguments.begin or arguments.end:
        raise UsageError("--around and --begin or --end say two different things")
    elif isinstance(arguments.around, EventName):
        unread: list[Damage] = []
        event = find_event(stored, arguments.around.id, unread)
        store.damaged.extend(unread)
        host, selection = event.segment.host, around_event(arguments, event, selection)
    else:
        host = last.host
        moment_ns = arguments.around.utc_ns([[s for s in stored if s.host == host][-1]])
        selection = _around(arguments, moment_ns, AFTER_NS, selection)
    damaged = _damaged_of(store, host, sure=bool(arguments.host))
    return [segment for segment in stored if segment.host == host], selection, damaged


def _between(arguments: argparse.Namespace, last: StoredSegment, selection: Selection) -> Selection:
    begin_ns = arguments.begin.utc_ns([last]) if arguments.begin else last.begin_ns
    end_ns = arguments.end.utc_ns([last]) if arguments.end else last.end_ns + 1
    if begin_ns >= end_ns and arguments.begin and arguments.end:
        raise UsageError("the range ends before it begins")
    if begin_ns >= end_ns:
        when = _in_words(arguments, begin_ns, end_ns)
        raise NoSamplesError(f"no samples of {last.host} {when}", hint=_what_there_is([last], begin_ns))
    return replace(selection, begin_ns=begin_ns, end_ns=end_ns)


def around_event(arguments: argparse.Namespace, event: StoredEvent, selection: Selection) -> Selection:
    """The seconds before an event are counted on the clock of its boot, whatever the wall clock did."""
    boot_id, offset_ns = event.segment.boot_id, event.segment.offset_ns
    # Of something that lasted, the time it lasted is what one wants to see.
    after_ns = max(AFTER_NS, min(int((event.event.seconds or 0) * 1e9), LONGEST_NS))
    around = _around(arguments, event.utc_ns, after_ns, selection)
    return replace(around, boot_id=boot_id, offset_ns=offset_ns)


def _around(arguments: argparse.Namespace, moment_ns: int, after_ns: int, selection: Selection) -> Selection:
    begin_ns = max(moment_ns - int(arguments.window * 1e9), EARLIEST_NS)
    return replace(selection, begin_ns=begin_ns, end_ns=moment_ns + after_ns)


def _cpus(text: str) -> tuple[int, ...]:
    from necroscope.sources.host import parse_core_list

    try:
        return parse_core_list(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of cores such as 5 or 0-3,8") from error
