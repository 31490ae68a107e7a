from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from necroscope.errors import PlaceError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.server.app import Settings, build_app
from necroscope.server.origin_policy import names_of
from tests.server.asgi_client import ask
from tests.server.questions.fleet.known_fleet import SPAN, reset, write_known

NAMES = names_of(8420, [], loopback=True, is_behind_proxy=False)
RANGE = f"begin_us={SPAN.begin_us}&end_us={SPAN.end_us}"


def app_of(place: Path | str, store: Path) -> ASGIApp:
    return build_app(Settings(store, NAMES, static=Path("/nonexistent"), fleet=str(place)))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> ASGIApp:
    """A server of a known fleet beside an empty store."""
    folder = tmp_path_factory.mktemp("fleet")
    return app_of(write_known(folder / "place", [reset("host-1", 0.5), reset("host-3", 3)]), folder / "store")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("fleet", "labels"),
        (f"fleet-map?{RANGE}&label=labels/zone&columns=10", "groups"),
        (f"fleet-events?{RANGE}&label=labels/zone&group=b", "events"),
        (f"fleet-where?{RANGE}&kind=nic-reset&kind=oom-kill", "concentrations"),
        (f"fleet-drift?{RANGE}", "differences"),
        (f"fleet-jobs?{RANGE}", "over_time"),
        (f"fleet-moment?host=host-1&begin_us={SPAN.begin_us}&end_us={SPAN.begin_us + 1}", "command"),
    ],
)
def test_questions_are_answered(app: ASGIApp, target: str, name: str) -> None:
    told = ask(app, f"/api/{target}")
    assert told.status == 200, told.body
    assert name in json.loads(told.body)


@pytest.mark.parametrize(
    "target",
    [
        "fleet-map",
        f"fleet-map?{RANGE}&label=nothing/such",
        f"fleet-map?{RANGE}&columns=0",
        f"fleet-map?{RANGE}&kind=no-such-kind",
        f"fleet-where?begin_us={SPAN.end_us}&end_us={SPAN.begin_us}",
        "fleet-where?begin_us=0&end_us=1794787200000000",
        f"fleet-events?{RANGE}&group={'x' * 2000}",
    ],
)
def test_what_cannot_be_asked_is_refused(app: ASGIApp, target: str) -> None:
    told = ask(app, f"/api/{target}")
    assert told.status == 400 and told.error["slug"] == "usage"


def test_the_page_is_told_that_there_is_a_fleet(app: ASGIApp, tmp_path: Path) -> None:
    assert json.loads(ask(app, "/api/hosts").body)["has_fleet"] is True
    alone = build_app(Settings(tmp_path, NAMES, static=Path("/nonexistent")))
    assert json.loads(ask(alone, "/api/hosts").body)["has_fleet"] is False
    assert ask(alone, "/api/fleet").status == 404


def test_an_empty_place(tmp_path: Path) -> None:
    told = ask(app_of(tmp_path, tmp_path), "/api/fleet")
    assert told.status == 404 and told.error["slug"] == "nothing-recorded"


def test_a_place_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> bytes:
        raise PlaceError("refused", hint="AWS_ACCESS_KEY_ID")

    monkeypatch.setattr(FolderPlace, "read", away)
    told = ask(app_of(tmp_path, tmp_path), "/api/fleet")
    assert told.status == 502 and told.error["slug"] == "fleet-place"


def test_a_damaged_index(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text('{"schema": 1, "files": [{}]}')
    told = ask(app_of(tmp_path, tmp_path), "/api/fleet")
    assert told.status == 404 and told.error["slug"] == "store"


def test_a_package_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> bytes:
        raise ModuleNotFoundError("no duckdb", name="duckdb")

    monkeypatch.setattr(FolderPlace, "read", missing)
    told = ask(app_of(tmp_path, tmp_path), "/api/fleet")
    assert told.status == 501 and told.error["slug"] == "not-installed" and "make fleet" in told.error["hint"]


def test_an_address_that_is_no_place(tmp_path: Path) -> None:
    told = ask(app_of("gopher://nowhere", tmp_path), "/api/fleet")
    assert told.status == 400 and "gopher" in told.error["what"]
