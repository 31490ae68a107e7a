"""Reads the newest hours of a store when the server starts: the first page need not wait for the files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from necroscope.errors import NecroscopeError
from necroscope.model.timestamp import SECOND_US
from necroscope.server.questions.cores import ask_cores
from necroscope.server.questions.diagnosis import ask_diagnosis
from necroscope.server.questions.events import ask_events
from necroscope.server.questions.hosts import ask_hosts
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import Range
from necroscope.server.work import Work, give_way

HOURS = 12
HOUR_US = 3600 * SECOND_US


def begin_reading(store: RecordedStore, work: Work) -> None:
    """Begin to read in the background, until the first question comes: it will read the same."""
    threading.Thread(target=_read, args=(store, work), name="read-ahead", daemon=True).start()


def _read(store: RecordedStore, work: Work) -> None:
    give_way()
    with suppress(NecroscopeError, OSError):  # whoever asks will be told
        hours = list(_newest_hours(store))
        for hour in hours:
            if work.was_asked:
                return
            _read_hour(store, hour)
        if hours:
            ask_diagnosis(store, replace(hours[0], begin_us=hours[-1].begin_us))


def _newest_hours(store: RecordedStore) -> Iterator[Range]:
    """The last hours of the host that was recorded last, the newest first."""
    for host in ask_hosts(store).hosts[:1]:
        for end_us in range(host.end_us, host.end_us - HOURS * HOUR_US, -HOUR_US):
            if end_us > host.begin_us:
                yield Range(host.name, max(end_us - HOUR_US, host.begin_us), end_us)


def _read_hour(store: RecordedStore, hour: Range) -> None:
    with suppress(NecroscopeError):  # nothing was recorded then
        ask_cores(store, hour, columns=1)
        ask_events(store, hour, ())
        for segment in hour.touched(store.recorded_in(hour)):
            store.counts.telling(segment)
