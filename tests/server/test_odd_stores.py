"""Stores as nobody should leave them: every question has an answer or a clear error, in time."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.types import ASGIApp

from necroscope.server.app import Settings, build_app
from necroscope.server.origin_policy import names_of
from necroscope.store.journal import JOURNAL
from necroscope.store.store import DESCRIPTION
from tests.server.asgi_client import Told, asked
from tests.server.questions.recorded_incident import RESET, incident_moments
from tests.server.questions.sampled_store import BEGIN_US, sampled_store
from tests.stored import HOST, open_segment, sealed_segment, seconds_of

COUNTED, LIVE = "node-18", "node-19"
SECONDS = 10.0  # for one answer; a thread that waits for a pipe waits for ever
QUESTIONS = [
    "hosts",
    "cores",
    "events",
    "zombies",
    "diagnosis",
    "live",
    "scope",
    "flame",
    "culprit",
    "export",
]
CENTURY_US = 100 * 365 * 86_400 * 10**6


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples of one host, counters of another, and an open segment of a third."""
    root = tmp_path_factory.mktemp("odd") / "store"
    sampled_store(root)
    sealed_segment(root, incident_moments(), [RESET], host=COUNTED)
    open_segment(root, seconds_of(["idle"] * 9), host=LIVE)
    return root


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(whole, tmp_path / "store"))


def newest(root: Path, host: str = HOST) -> Path:
    return max((root / host).iterdir())


def app_of(root: Path) -> ASGIApp:
    return build_app(Settings(root, names_of(8420, [], loopback=True, is_behind_proxy=False)))


def ask(app: ASGIApp, target: str) -> Told:
    async def in_time() -> Told:
        return await asyncio.wait_for(asked(app, target), SECONDS)

    return asyncio.run(in_time())


def ask_everything(app: ASGIApp, host: str, more: str = "") -> dict[str, int]:
    """The status of every answer; none is a fault of ours."""
    span = f"host={quote(host)}&since_us={BEGIN_US}&begin_us={BEGIN_US}&end_us={BEGIN_US + 80 * 10**6}{more}"
    told = {name: ask(app, f"/api/{name}?{span}") for name in QUESTIONS}
    for name, one in told.items():
        assert one.status in (200, 400, 404), (name, one.body)
    return {name: one.status for name, one in told.items()}


def damage(app: ASGIApp) -> list[str]:
    return [row["what"] for row in json.loads(ask(app, "/api/hosts").body)["damaged"]]


def changed(*path: str, to: Any) -> Callable[[dict[str, Any]], str]:
    def change(document: dict[str, Any]) -> str:
        place = document
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = to
        return json.dumps(document)

    return change


def with_more(text: str) -> Callable[[dict[str, Any]], str]:
    return lambda document: f"{json.dumps(document)[:-1]},{text}}}"


@pytest.mark.parametrize(
    "change",
    [
        changed("files", to=[None]),
        changed("profile", to=[None]),
        changed("end_ns", to=2**63 + 5),
        changed("host", "cores_online", to="many"),
        changed("sources", to={"cores": None}),
        changed("host", "hostname", to="half\ud800"),
        changed("clock", to=[]),
        with_more('"end_ns": NaN'),
        with_more('"end_ns": ' + "9" * 5000),
        with_more('"x": ' + '{"a":' * 10_000 + "1" + "}" * 10_000),
        lambda _: "[" * 10_000 + "]" * 10_000,
        lambda _: "\x00\x1b[31m",
    ],
)
def test_a_description_that_is_none_is_damage(root: Path, change: Callable[[dict[str, Any]], str]) -> None:
    path = newest(root) / DESCRIPTION
    path.write_text(change(json.loads(path.read_text())))
    app = app_of(root)
    (what,) = damage(app)
    assert what.startswith(f"{HOST}/{newest(root).name}/{DESCRIPTION}: ")
    assert set(ask_everything(app, HOST).values()) == {200}, "of what is left"


@pytest.mark.parametrize(
    "change",
    [
        changed("begin_ns", to=-(2**61)),
        changed("end_ns", to=2**62),
        changed("clock", "offset_ns", to=2**62),
        changed("host", "cores_online", to=2**70),
        changed("state", to=[1]),
        changed("profile", "lost_samples", to=-(2**80)),
        changed("no_profile", to="\x00\u202e"),
    ],
)
def test_a_description_that_is_odd(root: Path, change: Callable[[dict[str, Any]], str]) -> None:
    path = newest(root) / DESCRIPTION
    path.write_text(change(json.loads(path.read_text())))
    ask_everything(app_of(root), HOST)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        (HOST, DESCRIPTION),
        (HOST, "profile/samples.parquet"),
        (HOST, "events.parquet"),
        (COUNTED, "counters/cores.parquet"),
        (LIVE, JOURNAL),
    ],
)
def test_a_pipe_for_a_file_is_damage_and_nobody_waits(root: Path, host: str, name: str) -> None:
    path = newest(root, host) / name
    path.unlink()
    os.mkfifo(path)
    app = app_of(root)
    assert damage(app) == [f"{host}/{path.relative_to(root / host)}: not a file"]
    ask_everything(app, host)


@pytest.mark.parametrize("spoil", ["garbage", "half", "folder"])
def test_files_that_are_not_what_they_were(root: Path, spoil: str) -> None:
    for path in [path for path in root.rglob("*") if path.is_file() and path.name != DESCRIPTION]:
        content = path.read_bytes()
        path.write_bytes(bytes(range(256)) * 12 if spoil == "garbage" else content[: len(content) // 2])
        if spoil == "folder":
            path.unlink()
            path.mkdir()
    app = app_of(root)
    for host in (HOST, COUNTED, LIVE):
        ask_everything(app, host)


@pytest.mark.parametrize("name", ["a#b%20c?d&e+f", "../up", "\x1b[31mred", "left\u202eright", "Ä" * 60])
def test_a_host_is_asked_for_by_the_name_that_is_told(root: Path, name: str) -> None:
    path = newest(root, COUNTED) / DESCRIPTION
    path.write_text(changed("host", "hostname", to=name)(json.loads(path.read_text())))
    app = app_of(root)
    names = [host["name"] for host in json.loads(ask(app, "/api/hosts").body)["hosts"]]
    (told,) = set(names) - {HOST, LIVE}
    assert told.isprintable()
    assert ask_everything(app, told)["cores"] == 200


def test_a_store_that_vanishes_and_comes_back_as_something_else(root: Path) -> None:
    app = app_of(root)
    assert ask_everything(app, HOST)["flame"] == 200
    root.rename(root.parent / "gone")
    ask_everything(app, HOST)
    for make in (
        lambda: root.write_text("a file"),
        lambda: root.symlink_to(root.name),
        lambda: os.mkfifo(root),
    ):
        make()
        fresh = app_of(root)
        statuses = ask_everything(fresh, HOST)
        assert set(statuses.values()) <= {200, 404} and statuses["cores"] == 404
        root.unlink()


def test_a_link_to_itself_beside_the_hosts(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    assert ask(app_of(root), "/api/hosts").status == 200


def odd_searches() -> Iterator[str]:
    yield from (
        "(a*)*" * 38,
        "a{1000}{1000}",
        "(" * 200,
        "(?:" * 40 + "x" + ")" * 40,
        r"\w{900}" * 25,
        "[" * 99,
    )


@pytest.mark.parametrize("search", list(odd_searches()))
def test_huge_expressions(whole: Path, search: str) -> None:
    ask_everything(app_of(whole), HOST, f"&regexp=true&only_matching=true&search={quote(search)}")


def test_a_hundred_years(whole: Path) -> None:
    app = app_of(whole)
    for name in QUESTIONS[1:]:
        told = ask(app, f"/api/{name}?host={HOST}&begin_us=0&end_us={CENTURY_US}&columns=4096")
        assert told.status in (200, 400), (name, told.body)
