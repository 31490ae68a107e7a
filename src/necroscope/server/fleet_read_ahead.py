"""Reads the newest week of a fleet when the server starts: the first page need not wait for the files."""

from __future__ import annotations

import threading
from contextlib import suppress

from necroscope.errors import NecroscopeError
from necroscope.fleet.packages import needs_packages
from necroscope.server.fleet_span import FleetSpan
from necroscope.server.fleet_store import FleetStore
from necroscope.server.priority import give_way
from necroscope.server.work import Work

WEEK_US = 7 * 24 * 3600 * 10**6


def begin_reading_fleet(fleet: FleetStore, work: Work) -> None:
    """Begin to read in the background, until the first question comes: it will read the same."""
    threading.Thread(target=_read, args=(fleet, work), name="fleet-read-ahead", daemon=True).start()


def _read(fleet: FleetStore, work: Work) -> None:
    give_way()
    with suppress(NecroscopeError, OSError), needs_packages():  # whoever asks will be told
        from necroscope.server.questions.fleet.fleet import ask_fleet
        from necroscope.server.questions.fleet.fleet_next import ask_fleet_next
        from necroscope.server.questions.fleet.fleet_where import ask_fleet_where

        end_us = ask_fleet(fleet).end_us
        week = FleetSpan(max(0, end_us - WEEK_US), end_us)
        for question in (fleet.hours, fleet.episodes, lambda span: ask_fleet_where(fleet, span)):
            if work.was_asked:
                return
            question(week)
        ask_fleet_next(fleet, week)
