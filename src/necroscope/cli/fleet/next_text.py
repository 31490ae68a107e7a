"""`fleet next` for people: who is next, then the hosts, the soonest first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from necroscope.cli.screen import Screen
from necroscope.model.amounts import time_text
from necroscope.model.fleet.forecast import Forecast, Next

MOST = 20
BEYOND, AHEAD = "beyond", "ahead"  # of diagnosis.zombies.wall.Outlook


def is_near(one: Forecast, within_seconds: float) -> bool:
    """Whether a host is beyond the wall, or will be within a time."""
    return one.outlook == BEYOND or (one.seconds is not None and one.seconds <= within_seconds)


def next_text(screen: Screen, found: Next, within_seconds: float, *, every: bool) -> str:
    """All of it."""
    near = [one for one in found.forecasts if is_near(one, within_seconds)]
    lines = [screen.paint(screen.wrap(_first(found, near, within_seconds)), "critical" if near else "good")]
    told = [one for one in found.forecasts if every or one.outlook in (BEYOND, AHEAD)]
    shown = told if every else told[:MOST]
    if shown:
        lines += ["", screen.table([(one.host, _row(one)) for one in shown])]
    if len(told) > len(shown):
        lines.append(screen.wrap(f"and {len(told) - len(shown):,} more that grow (--all)", 2))
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
