from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.types import ASGIApp

from necroscope.server.openapi import document_of, new_app
from necroscope.server.origin_policy import names_of
from necroscope.server.questions.hosts import Hosts
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.routes import add_routes, encoded
from necroscope.server.work import Work
from tests.server.asgi_client import Told, ask, asked
from tests.server.questions.recorded_incident import BEGIN_US, RESET_ID, recorded_incident

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
OF_A_RANGE = [name for name in QUESTIONS if name not in ("hosts", "live")]
RANGE = f"host=node-17&begin_us={BEGIN_US}&end_us={BEGIN_US + 40_000_000}"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> ASGIApp:
    """The routes with their layers, over a store of known content."""
    from necroscope.server.app import Settings, layered

    root = recorded_incident(tmp_path_factory.mktemp("routes"))
    routes = new_app()
    add_routes(routes, RecordedStore(root), Work())
    names = names_of(8420, [], loopback=True, is_behind_proxy=False)
    return layered(routes, Settings(root, names))


def body(told: Told) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told.body)
    return found


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        ("hosts", "now_us", None),
        (f"cores?{RANGE}&columns=40", "columns", 40),
        (f"events?{RANGE}", "left_out", 0),
        (f"events?{RANGE}&kind=nic-reset&kind=oom-kill", "kinds", {"nic-reset": 1, "unit-restart": 1}),
        (f"zombies?{RANGE}&columns=100", "forecast", None),
        (f"diagnosis?{RANGE}", "level", "trouble"),
        ("live?host=node-17", "is_live", False),
        ("live?host=node-17&since_us=5", "is_live", False),
    ],
)
def test_a_question_and_its_answer(app: ASGIApp, target: str, name: str, value: object) -> None:
    told = ask(app, f"/api/{target}")
    assert (told.status, told.header("content-type")) == (200, "application/json")
    assert name in body(told) and (value is None or body(told)[name] == value)


def test_a_symptom_is_found_by_its_id(app: ASGIApp) -> None:
    events = body(ask(app, f"/api/events?{RANGE}"))["events"]
    assert body(ask(app, f"/api/diagnosis?{RANGE}"))["symptom"] in events
    assert RESET_ID in [event["id"] for event in events]


def test_the_rows_of_a_scope_are_understood(app: ASGIApp) -> None:
    told = ask(app, f"/api/scope?{RANGE}&rows=25")
    assert (told.status, body(told)["error"]["slug"]) == (404, "no-samples")  # this store has none


def bad_parameters() -> Iterator[str]:
    yield from (f"{name}?host=node-17&begin_us=1" for name in OF_A_RANGE)
    yield from (f"{name}?host=node-17&begin_us=5&end_us=5" for name in OF_A_RANGE)
    yield from (f"{name}?host=node-17&begin_us=x&end_us=5" for name in OF_A_RANGE)
    yield from (f"{name}?host=node-17&begin_us=-1&end_us=5" for name in OF_A_RANGE)
    yield from (f"{name}?host=node-17&begin_us=0&end_us=99999999999999999999" for name in OF_A_RANGE)
    yield from (f"cores?{RANGE}&columns={columns}" for columns in (0, 4097, -1, "x", "1e3"))
    yield from (f"scope?{RANGE}&{more}" for more in ("rows=11", "rows=0", "cpu=-1", "cpu=x", "idle=maybe"))
    yield from (
        f"flame?{RANGE}&{more}" for more in ("by=colour", "search=" + "x" * 201, "against=" + "x" * 65)
    )
    yield from (f"export?{RANGE}&format={name}" for name in ("exe", "../svg", ""))
    yield f"events?{RANGE}&kind={'x' * 256}"
    yield f"events?{RANGE}" + "&kind=x" * 101
    yield "live"
    yield f"live?host={'x' * 256}"


@pytest.mark.parametrize("target", list(bad_parameters()))
def test_a_bad_question_is_refused_and_the_error_says_what_is_wrong(app: ASGIApp, target: str) -> None:
    told = ask(app, f"/api/{target}")
    assert told.status == 400, told.body
    assert told.error["slug"] == "usage" and told.error["what"]


@pytest.mark.parametrize("name", [*OF_A_RANGE, "live"])
@pytest.mark.parametrize("host", ["../node-17", "..%2f..%2fetc", "/etc/passwd", "node-17/", "%00", "%ff", ""])
def test_a_path_for_a_host_is_an_unknown_host(app: ASGIApp, name: str, host: str) -> None:
    told = ask(app, f"/api/{name}?begin_us=1&end_us=2&host={host}")
    assert told.status == 404, told.body


@pytest.mark.parametrize("name", OF_A_RANGE)
def test_nothing_recorded_there(app: ASGIApp, name: str) -> None:
    assert ask(app, f"/api/{name}?host=node-17&begin_us=1&end_us=2").status == 404


@pytest.mark.parametrize("name", ["process", "thread", "event", "search", "against", "kind"])
def test_odd_text_in_any_parameter_is_no_fault_of_ours(app: ASGIApp, name: str) -> None:
    for text in ("../../etc/passwd", "\x00", "\u202e", "(" * 60, "a{1000}{1000}", "é" * 60):
        for question in OF_A_RANGE:
            told = ask(app, f"/api/{question}?{RANGE}&regexp=true&{name}={quote(text)}")
            assert told.status in (200, 400, 404), (question, text, told.body)


def test_questions_at_once_do_not_disturb_each_other(app: ASGIApp) -> None:
    async def all_at_once() -> list[Told]:
        targets = [f"/api/{name}?{RANGE}" for name in ("cores", "events", "zombies", "diagnosis")] * 6
        return await asyncio.gather(*(asked(app, target) for target in targets))

    answers = asyncio.run(all_at_once())
    assert {told.status for told in answers} == {200}
    assert len({told.body for told in answers}) == 4


def test_the_document_names_every_question_its_answer_and_its_errors() -> None:
    app = new_app()
    add_routes(app, RecordedStore(Path("/nonexistent")), Work())
    paths = {path: of for path, of in document_of(app)["paths"].items() if path != "/api/session"}
    assert {path: list(of) for path, of in paths.items()} == {f"/api/{name}": ["get"] for name in QUESTIONS}
    for path, of in paths.items():
        assert of["get"]["operationId"] == path.removeprefix("/api/")
        assert {"200", "400", "404", "503"} <= of["get"]["responses"].keys()
        failed = of["get"]["responses"]["400"]["content"]["application/json"]["schema"]["$ref"]
        assert failed.endswith("/Failed")
    flame = {parameter["name"] for parameter in paths["/api/flame"]["get"]["parameters"]}
    assert flame == {
        *("host", "begin_us", "end_us", "cpu", "process", "thread", "event", "idle"),
        *("search", "regexp", "only_matching", "by", "inverted", "against"),
    }


def test_no_question_runs_in_the_pool_of_the_framework(app: ASGIApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has 40 threads and no limit to what waits: ours are bounded, in work.py."""
    used: list[object] = []

    async def in_the_pool(call: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        used.append(call)
        return call(*arguments)

    monkeypatch.setattr("anyio.to_thread.run_sync", in_the_pool)
    targets = [f"/api/{name}?{RANGE}" for name in QUESTIONS] + ["/", "/api/openapi.json", "/api/none"]
    for target in [*targets, f"/api/flame?{RANGE}&by=colour"]:
        assert ask(app, target).status in (200, 400, 404, 503), target
    assert used == []


def test_half_a_character_in_a_name_can_be_told() -> None:
    answer = Hosts([], [Damaged("a\ud800b\x1b[31m\u202e", "")], 5, "1")
    assert json.loads(encoded(answer))["damaged"][0]["what"] == r"a\ud800b\x1b[31m\u202e"
