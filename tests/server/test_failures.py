from __future__ import annotations

import asyncio
from typing import Annotated

import pytest
from fastapi import FastAPI, Query

from necroscope.errors import (
    BusyError,
    CannotLookError,
    ImportFileError,
    NecroscopeError,
    NoSamplesError,
    NothingRecordedError,
    StoreError,
    UsageError,
)
from necroscope.server.failures import Failures
from necroscope.server.openapi import new_app
from tests.server.asgi_client import app_with, ask, asked


def raising(error: BaseException) -> FastAPI:
    routes = new_app()

    @routes.get("/api/raise")
    async def raise_it() -> None:
        raise error

    return routes


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (UsageError, 400),
        (NothingRecordedError, 404),
        (NoSamplesError, 404),
        (CannotLookError, 403),
        (StoreError, 404),
        (BusyError, 503),
    ],
)
def test_errors_of_ours_have_their_status(kind: type[NecroscopeError], status: int) -> None:
    told = ask(app_with(raising(kind("what it is", hint="what to do"))), "/api/raise")
    assert told.status == status
    assert told.error == {"slug": kind.slug, "what": "what it is", "hint": "what to do"}
    assert bool(told.header("retry-after")) == (status == 503)


@pytest.mark.parametrize(
    "error",
    [ValueError("secret"), ImportFileError("secret"), NecroscopeError("secret"), RecursionError("secret")],
)
def test_our_fault_gives_nothing_away(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    told = ask(app_with(raising(error)), "/api/raise")
    assert (told.status, told.error["slug"]) == (500, "internal")
    assert b"secret" not in told.body and b"Traceback" not in told.body
    assert told.header("content-security-policy")
    assert "secret" in capsys.readouterr().err


def test_the_same_place_is_told_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = 1000.0
    app = Failures(raising(ValueError("odd")), lambda: now)

    async def thrice() -> None:
        nonlocal now
        for _ in range(3):
            assert (await asked(app, "/api/raise")).status == 500
        assert capsys.readouterr().err.count("ValueError: odd") == 1
        now += 61
        await asked(app, "/api/raise")

    asyncio.run(thrice())
    assert capsys.readouterr().err.count("ValueError: odd") == 1


def test_a_parameter_that_is_wrong_is_named() -> None:
    routes = new_app()

    @routes.get("/api/square")
    async def square(side: Annotated[int, Query(ge=0)]) -> int:
        return side * side

    app = app_with(routes)
    for query in (
        "",
        "?side=",
        "?side=-1",
        "?side=../../etc/passwd",
        "?side=%00",
        "?side=%e2%80%ae1",
        "?side=nan",
    ):
        told = ask(app, f"/api/square{query}")
        assert (told.status, told.error["slug"]) == (400, "usage"), query
        assert told.error["what"].startswith("side")
        assert told.error["what"].isprintable()
    assert len(ask(app, f"/api/square?side={'x' * 5000}").error["what"]) < 200


@pytest.mark.parametrize(
    "target", ["/api/nothing", "/api/ping/", "/api/../api/ping", "/docs", "/redoc", "/openapi.json"]
)
def test_unknown_paths(target: str) -> None:
    told = ask(app_with(), target)
    assert (told.status, told.error["slug"]) == (404, "usage")


def test_hostile_text_is_made_visible() -> None:
    told = ask(app_with(raising(UsageError("\x1b[2J\u202egpj.exe", hint="\x00"))), "/api/raise")
    assert told.error["what"] == "\\x1b[2J\\u202egpj.exe"
    assert told.error["hint"] == "\\x00"
