"""Who is next."""

from __future__ import annotations

from necroscope.fleet.questions.next import ask_next
from necroscope.model.fleet.forecast import Forecast, Next
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.numbers import finite, told_interval
from necroscope.server.questions.fleet_answers import FleetNext, HostForecast

MOST_HOSTS = 300


def ask_fleet_next(fleet: FleetStore, span: FleetSpan) -> FleetNext:
    """What `necroscope fleet next` says at the end of the range."""
    found = fleet.kept(
        ("next", span.begin_us, span.end_us),
        lambda tables: ask_next(tables, fleet.engine, span.begin_us, span.end_us),
    )
    return told_next(found)


def told_next(found: Next) -> FleetNext:
    """The answer as the page wants it."""
    rows = found.forecasts[:MOST_HOSTS]
    return FleetNext(
        end_us=found.end_us,
        hosts=found.hosts,
        growing=found.growing,
        beyond=found.beyond,
        forecasts=[_row(one) for one in rows],
        left_out=len(found.forecasts) - len(rows),
        note=found.note,
    )


def _row(one: Forecast) -> HostForecast:
    return HostForecast(
        host=one.host,
        outlook=one.outlook,
        tracked=one.tracked,
        zombies=one.zombies,
        wall_level=one.wall_level,
        per_hour=finite(one.per_hour),
        per_hour_interval=told_interval(one.per_hour_interval) if one.per_hour_interval else None,
        seconds=finite(one.seconds),
        earliest_seconds=finite(one.earliest_seconds),
        latest_seconds=finite(one.latest_seconds),
        hours_seen=one.hours_seen,
        last_us=one.last_us,
    )
