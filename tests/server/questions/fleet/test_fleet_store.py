from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from necroscope.errors import NothingRecordedError, PlaceError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.server.questions.fleet import fleet_store
from necroscope.server.questions.fleet.fleet import ask_fleet
from necroscope.server.questions.fleet.fleet_store import FleetStore
from necroscope.server.questions.recorded_store import RecordedStore
from tests.server.questions.fleet.known_fleet import SPAN, known_fleet, reset, write_known


@pytest.fixture(autouse=True)
def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the index for every question."""
    monkeypatch.setattr(fleet_store, "AGAIN_SECONDS", 0.0)


def test_a_place_without_tables_says_how_they_are_made(tmp_path: Path) -> None:
    with pytest.raises(NothingRecordedError) as told:
        FleetStore(str(tmp_path), RecordedStore(tmp_path)).tables()
    assert "fleet ingest" in told.value.hint


def test_a_place_that_goes_away_leaves_what_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = known_fleet(tmp_path, [reset("host-1", 1)])
    assert ask_fleet(fleet).trouble == ""

    def away(*_: object) -> bytes:
        raise PlaceError("the network is down")

    with monkeypatch.context() as patched:
        patched.setattr(FolderPlace, "read", away)
        assert ask_fleet(fleet).trouble == "the network is down"
        with pytest.raises(PlaceError):
            FleetStore(str(tmp_path / "place"), fleet.store).tables()
    assert ask_fleet(fleet).trouble == ""


def test_new_tables_are_answered_from(tmp_path: Path) -> None:
    fleet = known_fleet(tmp_path, [reset("host-1", 1)])
    assert len(fleet.episodes(SPAN)) == 1
    write_known(tmp_path / "place", [reset("host-1", 1), reset("host-2", 2)])
    assert len(fleet.episodes(SPAN)) == 2


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    fleet = known_fleet(tmp_path, [reset("host-1", 1)])
    assert fleet.episodes(SPAN) is fleet.episodes(SPAN)
    assert fleet.grouping("labels/zone") is fleet.grouping("labels/zone")
    first, again = fleet.hours(SPAN), fleet.hours(SPAN)
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_a_server_without_a_fleet_does_not_load_its_packages() -> None:
    code = (
        "import sys, pathlib; from necroscope.server.app import build_app; "
        "from necroscope.server.app import Settings; from necroscope.server.origin_policy import names_of; "
        "import necroscope.server.fleet_routes; "
        "names = names_of(1, [], loopback=True, is_behind_proxy=False); "
        "build_app(Settings(pathlib.Path('/nonexistent'), names)); "
        "print(sorted({'pyarrow', 'duckdb', 'numpy', 'scipy', 'ray'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
