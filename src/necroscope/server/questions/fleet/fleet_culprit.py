"""What ran before events across the fleet."""

from __future__ import annotations

from necroscope.fleet.questions.culprit import ask_culprit
from necroscope.model.fleet.common_culprit import CommonCulprits, CommonSuspect
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.questions.fleet.numbers import finite
from necroscope.server.questions.fleet_answers import EventNotCompared, FleetCulprits, FleetSuspect

MOST_SUSPECTS = 50
MOST_NOT_COMPARED = 20


def ask_fleet_culprit(fleet: FleetStore, span: FleetSpan) -> FleetCulprits:
    """What `necroscope fleet culprit` says."""
    found = fleet.kept(
        ("culprit", span),
        lambda tables: ask_culprit(tables, fleet.engine, fleet.place, span.kinds, span.begin_us, span.end_us),
    )
    return told_culprits(found)


def told_culprits(found: CommonCulprits) -> FleetCulprits:
    """The answer as the page wants it."""
    return FleetCulprits(
        events=found.events,
        compared=found.compared,
        hosts=found.hosts,
        culprit=_row(found.culprit) if found.culprit else None,
        suspects=[_row(one) for one in found.suspects[:MOST_SUSPECTS]],
        not_compared=[
            EventNotCompared(one.host, one.event, one.why) for one in found.not_compared[:MOST_NOT_COMPARED]
        ],
        note=found.note,
    )


def _row(one: CommonSuspect) -> FleetSuspect:
    return FleetSuspect(
        kind=one.kind,
        process=one.process,
        function=one.function,
        events=one.events,
        hosts=one.hosts,
        of_events=one.of_events,
        of_hosts=one.of_hosts,
        share=one.share,
        quiet_share=one.quiet_share,
        lift=finite(one.lift),
        p=finite(one.p),
        q=finite(one.q),
        is_significant=one.is_significant,
        way=one.way,
    )
