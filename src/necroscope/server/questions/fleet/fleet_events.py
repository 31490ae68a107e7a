"""What happened to the hosts of a group, or to all, in some time."""

from __future__ import annotations

from necroscope.errors import UsageError
from necroscope.fleet.tables.duck import viewed
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.timestamp import HOUR_US
from necroscope.server.questions.fleet.answer_of import answer_of
from necroscope.server.questions.fleet.fleet_answers import FleetEvent, FleetEvents
from necroscope.server.questions.fleet.fleet_map import OTHERS
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore

MOST_EVENTS = 200


def ask_fleet_events(fleet: FleetStore, span: FleetSpan, label: str, group: str) -> FleetEvents:
    """The first event of every episode, the newest first. Without a group: of all hosts."""
    if group == OTHERS:
        raise UsageError("which of the others?", hint="name one value of the label")
    episodes = fleet.episodes(span)
    if group:
        grouping = fleet.grouping(label)
        episodes = [one for one in episodes if grouping.group_of(one.facts) == group]
    newest = episodes[::-1][:MOST_EVENTS]
    shipped = shipped_segments(fleet.tables(), span)
    events = [answer_of(FleetEvent, one, is_shipped=(one.host, one.segment) in shipped) for one in newest]
    return FleetEvents(events, len(episodes) - len(newest))


def shipped_segments(tables: FleetTables, span: FleetSpan) -> set[tuple[str, str]]:
    """Host and segment of what was sent as a whole. A segment may begin in the hour before its event."""
    with viewed({"files": tables.paths("files", span.begin_us - HOUR_US, span.end_us)}) as connection:
        rows = connection.execute("SELECT DISTINCT host, segment FROM files").fetchall()
    return {(host, segment) for host, segment in rows}
