"""What ran in the seconds before events across the fleet, against the quiet seconds of the same hosts.

necroscope fleet culprit -b 7d                     what the NIC resets of a week have in common
necroscope fleet culprit --kind soft-lockup --window 10s

Every event whose samples were shipped is looked at by itself, as `necroscope culprit` does it; then it is
counted on how many hosts somebody stood out, against what chance would do. A host with a hundred events is
one host. Exit code 1 means that something is common to more hosts than chance gives, 0 that nothing is.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import add_question, asked_fleet, place_address
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.screen import Screen
from necroscope.model.amounts import listed
from necroscope.model.fleet.common_culprit import CommonCulprits, CommonSuspect

TITLES = {"process": "processes", "function": "kernel functions", "pair": "process in function"}
MOST_ROWS = 5  # of each kind
MOST_REASONS = 5
MARGIN = 37  # for the numbers at the left
LONGEST_WINDOW_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet culprit` understands."""
    add_question(parser)
    add_events(parser, 200)


def add_events(parser: argparse.ArgumentParser, most: int) -> None:
    """Add --window and --most, which say how much is looked at."""
    parser.add_argument(
        "--window", type=_window_length, default=5.0, metavar="D", help="seconds before an event (default 5s)"
    )
    parser.add_argument(
        "--most",
        type=_event_count,
        default=most,
        metavar="N",
        help="events to look at, the newest of every host first (default %(default)s)",
    )


def run(arguments: argparse.Namespace) -> Answer:
    """Look at every event, and put it together."""
    with asked_fleet(arguments) as fleet:
        from necroscope.fleet.place.place import open_place
        from necroscope.fleet.questions.culprit import CulpritWish, ask_culprit

        wish = CulpritWish(arguments.window, arguments.most, fleet.thresholds)
        place = open_place(place_address(arguments))
        found = ask_culprit(fleet.tables, fleet.engine, place, fleet.kinds, *fleet.span_us, wish)
    stands_out = any(suspect.is_significant for suspect in found.suspects)
    return Answer(int(stands_out), document_of(found), lambda screen: "\n".join(culprit_text(screen, found)))


def _window_length(text: str) -> float:
    """The seconds before an event."""
    seconds = duration(text)
    if not 1 <= seconds <= LONGEST_WINDOW_SECONDS:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 1s and {LONGEST_WINDOW_SECONDS:g}s")
    return seconds


def _event_count(text: str) -> int:
    """How many events to look at."""
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of events")
    return int(text)


def culprit_text(screen: Screen, found: CommonCulprits) -> Iterator[str]:
    """All of it."""
    yield screen.paint(screen.wrap(_verdict(found)), "critical" if found.culprit else "good")
    if found.compared:
        yield screen.wrap(
            f"{found.compared:,} of {found.events:,} events compared, on {_hosts(found.hosts)}, each with "
            "the quiet seconds of its own host"
        )
    for kind, title in TITLES.items():
        if rows := [one for one in found.suspects if one.kind == kind][:MOST_ROWS]:
            yield ""
            yield f"{'hosts':>7} {'events':>7} {'share':>6} {'lift':>6} {'q':>6}  {title}"
            yield from (_row(screen, one) for one in rows)
    if found.suspects:
        yield ""
        yield screen.wrap(
            "* on more hosts than chance gives. Hosts: on so many it stood out more often than by chance."
        )
    if found.not_compared:
        yield ""
        yield screen.paint("Not compared", "bold")
        yield screen.table(_reasons(found))
    if found.note and found.events:
        yield screen.paint(screen.wrap(f"{found.note[0].upper()}{found.note[1:]}."), "dim")


def suspect_name(one: CommonSuspect) -> str:
    """`kubelet in mem_cgroup_nr_lru_pages`; alone: without what the function calls."""
    alone = " alone" if one.way == "self" else ""
    return " in ".join(filter(None, (one.process, one.function))) + alone


def _verdict(found: CommonCulprits) -> str:
    culprit = found.culprit
    if not found.events:
        return found.note
    if culprit is None:
        what = listed(list(found.kinds))
        return f"nothing is common to the seconds before {what}, on {_hosts(found.hosts)}"
    where = " in user space" if culprit.kind == "process" else ""
    return (
        f"{suspect_name(culprit)} stands out{where} before the events of {culprit.hosts:,} of "
        f"{_hosts(culprit.of_hosts)}: {100 * culprit.share:.2g}% of the time against "
        f"{100 * culprit.quiet_share:.2g}% in quiet seconds"
    )


def _row(screen: Screen, one: CommonSuspect) -> str:
    lift = "new" if one.lift is None else f"{min(one.lift, 9999):.3g}x"
    q = f"{one.q:.0e}" if one.q < 0.001 else f"{one.q:.2g}"
    hosts, events = f"{one.hosts}/{one.of_hosts}", f"{one.events}/{one.of_events}"
    numbers = f"{hosts:>7} {events:>7} {one.share:>6.1%} {lift:>6} {q:>6}"
    name = screen.wrap(f"{'*' if one.is_significant else ' '}{suspect_name(one)}", MARGIN, MARGIN + 1)
    return f"{numbers} {name[len(numbers) + 1 :]}"


def _reasons(found: CommonCulprits) -> Iterator[tuple[str, str]]:
    """Each reason once, with how many events and one of them by name."""
    counts = Counter(one.why for one in found.not_compared)
    for why, count in counts.most_common(MOST_REASONS):
        first = next(one for one in found.not_compared if one.why == why)
        yield f"{count:,} event{'' if count == 1 else 's'}", f"{why} ({first.host}, {first.event})"


def _hosts(count: int) -> str:
    return f"{count:,} host{'' if count == 1 else 's'}"
