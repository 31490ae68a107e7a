"""Reads the newest week of a fleet when the server starts: the first page need not wait for the files."""

from __future__ import annotations

import threading
from contextlib import suppress

from necroscope.errors import NecroscopeError
from necroscope.fleet.packages import needs_packages
from necroscope.model.timestamp import HOUR_US
from necroscope.server.questions.fleet.fleet_span import FleetSpan
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.work import Work, give_way

WEEK_US = 7 * 24 * HOUR_US


def begin_reading_fleet(fleet: FleetStore, work: Work) -> None:
    """Begin to read in the background, until the first question comes: it will read the same."""
    threading.Thread(target=_read, args=(fleet, work), name="fleet-read-ahead", daemon=True).start()


def first_span(begin_us: int, end_us: int) -> FleetSpan:
    """What the page asks about first, in whole hours: web/src/views/fleet/range.ts says the same."""
    end_us = -(-end_us // HOUR_US) * HOUR_US
    begin_us = begin_us // HOUR_US * HOUR_US
    return FleetSpan(min(max(begin_us, end_us - WEEK_US), end_us - HOUR_US), end_us)


def _read(fleet: FleetStore, work: Work) -> None:
    give_way()
    with suppress(NecroscopeError, OSError), needs_packages():  # whoever asks will be told
        from necroscope.server.questions.fleet.fleet import ask_fleet
        from necroscope.server.questions.fleet.verbs import ask_fleet_next, ask_fleet_where

        found = ask_fleet(fleet)
        week = first_span(found.begin_us, found.end_us)
        for question in (fleet.hours, fleet.episodes, lambda span: ask_fleet_where(fleet, span)):
            if work.was_asked:
                return
            question(week)
        ask_fleet_next(fleet, week)
