from __future__ import annotations

import threading
from pathlib import Path

import pytest

from necroscope.server import fleet_read_ahead
from necroscope.server.fleet_read_ahead import begin_reading_fleet, first_span
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.fleet.verbs import ask_fleet_next, ask_fleet_where
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.work import Work
from tests.server.questions.fleet.known_fleet import SPAN, known_fleet, reset

HOUR_US = 3600 * 10**6
BEGIN_US = SPAN.begin_us


def read_all(fleet: FleetStore, work: Work) -> None:
    begin_reading_fleet(fleet, work)
    for thread in threading.enumerate():
        if thread.name == "fleet-read-ahead":
            thread.join(30)


@pytest.mark.parametrize(
    ("hours", "wanted"), [(0.1, (0, 1)), (1, (0, 1)), (4.5, (0, 5)), (168, (0, 168)), (400.1, (233, 401))]
)
def test_the_last_week_in_whole_hours(hours: float, wanted: tuple[int, int]) -> None:
    span = first_span(BEGIN_US, BEGIN_US + int(hours * HOUR_US))
    assert (span.begin_us - BEGIN_US) / HOUR_US == wanted[0]
    assert (span.end_us - BEGIN_US) / HOUR_US == wanted[1]


def test_what_the_page_asks_first_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = known_fleet(tmp_path, [reset("host-1", 1)])
    read_all(fleet, Work())
    monkeypatch.setattr(fleet.engine, "gather", pytest.fail)
    assert ask_fleet_where(fleet, SPAN).total.episodes == 1
    assert ask_fleet_next(fleet, SPAN).hosts == 12


def test_whoever_asks_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, work = known_fleet(tmp_path, []), Work()
    work.was_asked = True
    monkeypatch.setattr(fleet, "episodes", pytest.fail)
    read_all(fleet, work)


def test_a_place_that_is_none_is_told_to_whoever_asks(tmp_path: Path) -> None:
    read_all(FleetStore("gopher://nowhere", RecordedStore(tmp_path)), Work())
    read_all(FleetStore(str(tmp_path), RecordedStore(tmp_path)), Work())
    assert fleet_read_ahead.WEEK_US == 168 * HOUR_US
