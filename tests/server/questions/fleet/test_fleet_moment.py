from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from necroscope.errors import NothingRecordedError, UsageError
from necroscope.model.timestamp import SECOND_US
from necroscope.server.questions.events import ask_events
from necroscope.server.questions.fleet.fleet_moment import ask_fleet_moment
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.scope import ask_scope
from necroscope.server.questions.selection import Filters, Range
from tests.server.questions.fleet.known_fleet import Row, write_known
from tests.server.questions.sampled_store import BEGIN_US, LENGTH, RESET, sampled_store
from tests.stored import HOST

FLEET_HOST = "fleet-name-of-17"  # the fleet may call a host otherwise than it calls itself
SPAN = Range(FLEET_HOST, BEGIN_US + 30 * SECOND_US, BEGIN_US + 50 * SECOND_US)


def ship(segments: Path, place: Path, host: str) -> list[Row]:
    """Put the files of sealed segments into a place as blobs; the rows that tell of them."""
    rows: list[Row] = []
    for number, folder in enumerate(sorted(path for path in segments.iterdir() if path.is_dir())):
        begin_us = BEGIN_US + number * LENGTH * SECOND_US
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            blob = place / "hosts" / host / "blobs" / digest
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(content)
            rows.append(
                {
                    "host": host,
                    "segment": folder.name,
                    "boot_id": "boot",
                    "begin_us": begin_us,
                    "end_us": begin_us + LENGTH * SECOND_US,
                    "name": str(path.relative_to(folder)),
                    "bytes": len(content),
                    "sha256": digest,
                }
            )
    return rows


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FleetStore:
    """A place with two whole segments of one host, and a server whose own store is empty."""
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache/tables"))
    sampled_store(tmp_path / "elsewhere")
    place = tmp_path / "place"
    rows = ship(tmp_path / "elsewhere" / HOST, place, FLEET_HOST)
    segment = {**dict.fromkeys(("samples", "cores"), 1), **{key: rows[0][key] for key in ("host", "segment")}}
    times = {key: rows[0][key] for key in ("boot_id", "begin_us", "end_us")}
    write_known(place, [], files=rows, segments=[{**segment, **times, "recorded_us": 1, "facts": ""}])
    return FleetStore(str(place), RecordedStore(tmp_path / "store"))


def test_what_was_shipped_is_brought_and_answers_as_if_it_was_recorded_here(fleet: FleetStore) -> None:
    with pytest.raises(NothingRecordedError):
        fleet.store.segments_of(FLEET_HOST)
    answer = ask_fleet_moment(fleet, SPAN)
    assert (answer.whereabouts, answer.segments, answer.command) == ("brought", 2, "")
    assert list(fleet.store.hosts()) == [FLEET_HOST]
    assert ask_scope(fleet.store, SPAN, Filters(), 50).samples > 100
    (event,) = ask_events(fleet.store, SPAN, ()).events
    assert event.kind == "nic-reset" and event.time_us == BEGIN_US + RESET * SECOND_US


def test_it_is_brought_once(fleet: FleetStore, monkeypatch: pytest.MonkeyPatch) -> None:
    ask_fleet_moment(fleet, SPAN)
    monkeypatch.setattr(fleet, "tables", pytest.fail)
    assert ask_fleet_moment(fleet, SPAN).whereabouts == "here"


def test_after_a_new_start_it_is_still_there(fleet: FleetStore, tmp_path: Path) -> None:
    ask_fleet_moment(fleet, SPAN)
    for path in (tmp_path / "place/hosts").rglob("*"):
        if path.is_file():
            path.unlink()
    again = FleetStore(fleet.place.address, RecordedStore(tmp_path / "store"))
    assert ask_fleet_moment(again, SPAN).segments == 2


def test_what_was_not_shipped_has_a_command(fleet: FleetStore) -> None:
    later = Range(FLEET_HOST, BEGIN_US + 900 * SECOND_US, BEGIN_US + 960 * SECOND_US)
    answer = ask_fleet_moment(fleet, later)
    assert answer.whereabouts == "not shipped"
    words = f"necroscope fleet request {FLEET_HOST} -b 2026-04-15T10:15:00Z -e 2026-04-15T10:16:00Z"
    assert answer.command == f"{words} --fleet PLACE", "clients of the page learn no paths of the server"


def test_a_host_that_nobody_knows(fleet: FleetStore) -> None:
    for host in ("nobody", "../../etc", "x'; DROP TABLE files; --"):
        answer = ask_fleet_moment(fleet, Range(host, SPAN.begin_us, SPAN.end_us))
        assert answer.whereabouts == "unknown host" and answer.segments == 0


def test_a_moment_is_not_a_day(fleet: FleetStore) -> None:
    with pytest.raises(UsageError):
        ask_fleet_moment(fleet, Range(FLEET_HOST, SPAN.begin_us, SPAN.begin_us + 86400 * SECOND_US))
