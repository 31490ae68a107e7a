"""Bring a host's own recording of some seconds here, where its segments were shipped."""

from __future__ import annotations

from necroscope.errors import NothingRecordedError
from necroscope.fleet.tables.download_segments import bring_segment, brought_store
from necroscope.fleet.tables.duck import viewed
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.shell_command import necroscope_command
from necroscope.model.timestamp import HOUR_US, SECOND_US, iso_utc_seconds
from necroscope.server.questions.failure import folder_of
from necroscope.server.questions.fleet.fleet_answers import FleetMoment, Whereabouts
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.selection import Range

LONGEST_SECONDS = 7200  # of a moment
AROUND_US = 300 * SECOND_US  # neighbours: quiet seconds to compare with
MOST_SEGMENTS = 80
PLACE = "PLACE"  # a folder of the server: who has the host send it knows where it is there
SHIPPED = """SELECT DISTINCT segment, begin_us < ? AND end_us > ? FROM files
    WHERE host = ? AND begin_us < ? AND end_us > ? ORDER BY segment"""


def ask_fleet_moment(fleet: FleetStore, span: Range) -> FleetMoment:
    """Where the recording is: in the store, brought now, or still on its host."""
    span.require_at_most(LONGEST_SECONDS, "a moment")
    here = _touched(fleet, span)
    if here:
        return FleetMoment("here", here, "")
    shipped = _shipped(fleet.tables(), span)
    if any(is_inside for _, is_inside in shipped):
        store = brought_store(fleet.address)
        for segment, _ in shipped[:MOST_SEGMENTS]:
            bring_segment(fleet.place, fleet.tables(), span.host, segment, store)
        fleet.store.also_in(store)
        return FleetMoment("brought", _touched(fleet, span), "")
    whereabouts: Whereabouts = "not shipped" if _is_known(fleet.tables(), span) else "unknown host"
    return FleetMoment(whereabouts, 0, _command(fleet, span))


def _touched(fleet: FleetStore, span: Range) -> int:
    try:
        return len(span.touched(fleet.store.segments_of(span.host)))
    except NothingRecordedError:
        return 0


def _shipped(tables: FleetTables, span: Range) -> list[tuple[str, bool]]:
    """The segments around, and whether they have a part of the range."""
    begin_us, end_us = span.begin_us - AROUND_US, span.end_us + AROUND_US
    wanted = (span.end_us, span.begin_us, span.host, end_us, begin_us)
    with viewed({"files": tables.paths("files", begin_us - HOUR_US, end_us)}) as connection:
        return connection.execute(SHIPPED, wanted).fetchall()


def _is_known(tables: FleetTables, span: Range) -> bool:
    """Whether the fleet has heard of the host in these hours."""
    files = tables.paths("segments", span.begin_us - HOUR_US, span.end_us + HOUR_US)
    with viewed({"segments": files}) as connection:
        query = "SELECT 1 FROM segments WHERE host = ? LIMIT 1"
        return connection.execute(query, (span.host,)).fetchone() is not None


def _command(fleet: FleetStore, span: Range) -> str:
    """What has the host send it."""
    times = [iso_utc_seconds(us * 1000) for us in (span.begin_us, span.end_us)]
    place = PLACE if folder_of(fleet.address) else fleet.place.address
    options = ["-b", times[0], "-e", times[1], "--fleet", place]
    return necroscope_command("fleet request", [span.host], options)
