"""Where events concentrate."""

from __future__ import annotations

from necroscope.fleet.questions.where import ask_where
from necroscope.model.fleet.concentration import Concentration, Exposed, Standing, Where
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.numbers import finite, told_interval
from necroscope.server.questions.fleet_answers import ExposedHosts, FleetConcentration, FleetWhere

MOST_ROWS = 200
SHOWN = (Standing.CONCENTRATES, Standing.FOLLOWS, Standing.SPARED)


def ask_fleet_where(fleet: FleetStore, span: FleetSpan) -> FleetWhere:
    """What `necroscope fleet where` says."""
    found = fleet.kept(
        ("where", span),
        lambda tables: ask_where(tables, fleet.engine, span.kinds, span.begin_us, span.end_us),
    )
    return told_where(found)


def told_where(where: Where) -> FleetWhere:
    """The answer as the page wants it: what was shown, then the strongest of the rest."""
    rows = sorted(where.concentrations, key=lambda one: one.standing not in SHOWN)[:MOST_ROWS]
    return FleetWhere(
        kinds=list(where.kinds),
        total=_exposed(where.total),
        tested=where.tested,
        concentrations=[_row(one) for one in rows],
        left_out=len(where.concentrations) - len(rows),
        unknown_hosts=where.unknown_hosts,
        note=where.note,
    )


def _exposed(exposed: Exposed) -> ExposedHosts:
    return ExposedHosts(exposed.hosts, exposed.affected, exposed.episodes, exposed.host_hours)


def _row(one: Concentration) -> FleetConcentration:
    among = one.interval_among_alike
    return FleetConcentration(
        label=one.label,
        value=one.value,
        inside=_exposed(one.inside),
        outside=_exposed(one.outside),
        rate_ratio=finite(one.rate_ratio),
        interval=told_interval(one.interval),
        p=finite(one.p),
        q=finite(one.q),
        standing=one.standing.value,
        ratio_among_alike=finite(one.ratio_among_alike),
        interval_among_alike=told_interval(among) if among else None,
        follows=list(one.follows),
        cannot_tell_apart_from=list(one.cannot_tell_apart_from),
        sentence=one.sentence,
    )
