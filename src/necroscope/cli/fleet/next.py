"""When each host reaches the wall, the soonest first: so many memory cgroups that it hurts there.

necroscope fleet next --fleet s3://bucket/fleet
necroscope fleet next -b 12h --within 30d --json

The trend of every host is taken from the range (6 to 24 hours are good), since its last boot or purge; a
count that merely wanders has none. `necroscope zombies` says the same on the host, and what makes it grow.
Exit code 1 means that a host is beyond the wall, or reaches it within the time of --within; 0 that none does.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import duration
from necroscope.cli.fleet.asking import add_question, asked_fleet
from necroscope.cli.fleet.documents import document_of
from necroscope.cli.screen import Screen
from necroscope.errors import NothingRecordedError
from necroscope.model.amounts import time_text
from necroscope.model.fleet.forecast import Forecast, Next

MOST = 20
BEYOND, AHEAD = "beyond", "ahead"  # of diagnosis.zombies.wall.Outlook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `fleet next` understands."""
    add_question(parser, "24h", of_events=False)
    parser.add_argument(
        "--within", type=duration, default="7d", metavar="D", help="what is soon (default %(default)s)"
    )
    parser.add_argument("--all", action="store_true", help="list all hosts, not the first twenty")


def run(arguments: argparse.Namespace) -> Answer:
    """Gather, and reckon."""
    with asked_fleet(arguments) as fleet:
        from necroscope.fleet.questions.next import ask_next

        found = ask_next(fleet.tables, fleet.engine, *fleet.span_us)
    if not found.hosts:
        raise NothingRecordedError("no host was recorded in that time", hint="-b and -e choose another")
    within = arguments.within
    near = sum(is_near(one, within) for one in found.forecasts)
    body = {**document_of(found), "within_seconds": within, "near": near}
    return Answer(int(near > 0), body, lambda screen: next_text(screen, found, within, every=arguments.all))


def is_near(one: Forecast, within_seconds: float) -> bool:
    """Whether a host is beyond the wall, or will be within a time."""
    return one.outlook == BEYOND or (one.seconds is not None and one.seconds <= within_seconds)


def next_text(screen: Screen, found: Next, within_seconds: float, *, every: bool) -> str:
    """All of it."""
    near = [one for one in found.forecasts if is_near(one, within_seconds)]
    lines = [screen.paint(screen.wrap(_first(found, near, within_seconds)), "critical" if near else "good")]
    chosen = [one for one in found.forecasts if every or one.outlook in (BEYOND, AHEAD)]
    shown = chosen if every else chosen[:MOST]
    if shown:
        lines += ["", screen.table([(one.host, _row(one)) for one in shown])]
    if len(chosen) > len(shown):
        lines.append(screen.wrap(f"and {len(chosen) - len(shown):,} more that grow (--all)", 2))
    quiet = len(found.forecasts) - found.growing - found.beyond
    lines += [
        "",
        screen.wrap(f"{found.growing:,} of {found.hosts:,} hosts grow; {quiet:,} have no such trend."),
    ]
    if found.note:
        lines.append(screen.paint(screen.wrap(f"{found.note[0].upper()}{found.note[1:]}."), "dim"))
    return "\n".join(lines)


def _first(found: Next, near: Sequence[Forecast], within_seconds: float) -> str:
    if not near:
        soonest = next((one for one in found.forecasts if one.outlook == AHEAD), None)
        then = f"; the first is {soonest.host}, {_when(soonest)}" if soonest else ""
        return f"No host reaches the wall within {time_text(within_seconds)}{then}."
    first = near[0]
    when = "is beyond the wall" if first.outlook == BEYOND else f"reaches the wall {_when(first)}"
    if len(near) == 1:
        return f"{first.host} {when}."
    soon = f"{len(near):,} hosts are beyond the wall or reach it within {time_text(within_seconds)}"
    return f"{soon}; {first.host} {when}."


def _when(one: Forecast) -> str:
    late = one.latest_seconds
    latest = "never" if late is None or math.isinf(late) else time_text(late)
    return f"in {time_text(one.seconds or 0.0)} ({time_text(one.earliest_seconds or 0.0)} to {latest})"


def _row(one: Forecast) -> str:
    level = f"{one.tracked:,.0f} of {one.wall_level:,}" if one.wall_level else f"{one.tracked:,.0f}"
    words = {BEYOND: "beyond the wall", AHEAD: _when(one)}
    parts = [words.get(one.outlook, one.outlook), f"{level} cgroups"]
    if one.per_hour is not None and one.outlook in words:
        parts.append(f"{one.per_hour:+,.3g} an hour over {one.hours_seen:.0f} h")
    return "; ".join(parts)
