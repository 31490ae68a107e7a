from __future__ import annotations

import asyncio
import json
import time

import pytest
from starlette.types import ASGIApp

from necroscope.server.origin_policy import names_of
from necroscope.server.session import MOST_ADDRESSES, SESSION_SECONDS, Sessions, WrongTokenDelay, network_of
from tests.server.asgi_client import HOST, TOKEN, Told, app_with, ask, asked


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each wrong token would have waited."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


def log_in(app: ASGIApp, token: object = TOKEN, **scope: object) -> Told:
    body = json.dumps({"token": token}).encode()
    length = ("Content-Length", str(len(body)))
    return ask(app, "/api/session", [HOST, length], "POST", [body], **scope)


def test_without_a_token_nothing_is_answered_but_the_page() -> None:
    app = app_with(token=TOKEN)
    for target in ("/api/ping", "/api/nothing", "/api/openapi.json", "/api", "/api/%2e%2e/api/ping"):
        told = ask(app, target)
        assert (told.status, told.error["slug"]) == (401, "token-wanted"), target
        assert "Bearer" in told.header("www-authenticate")
    assert ask(app, "/").status != 401


def test_a_token_as_a_header() -> None:
    app = app_with(token=TOKEN)
    assert ask(app, headers=[HOST, ("Authorization", f"Bearer {TOKEN}")]).status == 200
    assert ask(app, headers=[HOST, ("Authorization", f"bearer {TOKEN}")]).status == 200


@pytest.mark.parametrize("token", ["wrong", "", TOKEN[:-1], TOKEN + "x", "\xff", "__proto__"])
def test_wrong_tokens(token: str, no_delay: list[float]) -> None:
    app = app_with(token=TOKEN)
    assert ask(app, headers=[HOST, ("Authorization", f"Bearer {token}")]).status == 401
    assert log_in(app, token).status == 401
    assert no_delay == [0.25, 0.5], "each waits longer"


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b'{"token": 5}', b"\xff", b"[" * 4000, b'"token"', b"null"]
)
def test_odd_bodies(body: bytes) -> None:
    length = ("Content-Length", str(len(body)))
    assert ask(app_with(token=TOKEN), "/api/session", [HOST, length], "POST", [body]).status == 400


def test_the_cookie_opens_the_api() -> None:
    app = app_with(token=TOKEN)
    told = log_in(app)
    cookie = told.header("set-cookie")
    assert (told.status, told.body) == (204, b"")
    assert cookie.startswith("necroscope-8420=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; ")) and "Secure" not in cookie
    assert TOKEN not in cookie
    ours = cookie.split(";")[0]
    for header in (ours, f'odd="{{[;x; {ours}', f"a; =; b=1;{ours} ; c", f"{ours}x; {ours}"):
        assert ask(app, headers=[HOST, ("Cookie", header)]).status == 200, header
    assert ask(app, headers=[HOST, ("Cookie", "odd=1"), ("Cookie", ours)]).status == 200


def test_behind_tls_the_cookie_is_bound_to_this_host() -> None:
    cookie = log_in(app_with(token=TOKEN, is_secure=True)).header("set-cookie")
    assert cookie.startswith("__Host-necroscope-8420=") and "Secure" in cookie and "Domain" not in cookie


def test_a_cookie_of_another_server_is_none_of_ours() -> None:
    ours = log_in(app_with(token=TOKEN)).header("set-cookie").split(";")[0]
    assert ask(app_with(token=TOKEN), headers=[HOST, ("Cookie", ours)]).status == 401


@pytest.mark.parametrize("value", ["", ".", "9999999999.", "9999999999.00", "x.y", "\xff.\xff", "9" * 5000])
def test_forged_cookies(value: str) -> None:
    told = ask(app_with(token=TOKEN), headers=[HOST, ("Cookie", f"necroscope-8420={value}")])
    assert told.status == 401


def test_a_session_ends() -> None:
    now = time.time()
    sessions = Sessions(8420, is_secure=False, clock=lambda: now)
    cookie = sessions.new_cookie().split(";")[0]
    assert sessions.is_open([cookie])
    later = cookie.replace(str(int(now)), str(int(now) + 99))
    assert not sessions.is_open([cookie.replace("=1", "=2"), later.replace("=", "=9")]), (
        "the expiry is signed"
    )
    now += SESSION_SECONDS + 1
    assert not sessions.is_open([cookie])


def test_behind_a_proxy_clients_are_told_apart(no_delay: list[float]) -> None:
    names = names_of(8420, [], loopback=True, is_behind_proxy=True)
    app = app_with(token=TOKEN, names=names)
    wrong = ("Authorization", "Bearer wrong")
    for forwarded in ("10.0.0.1", "10.0.0.2", "spoofed, 10.0.0.2"):
        ask(app, headers=[HOST, wrong, ("X-Forwarded-For", forwarded)])
    assert no_delay == [0.25, 0.25, 0.5]


def test_many_wrong_tokens_do_not_take_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    async def together() -> list[int]:
        release = asyncio.Event()

        async def wait(_: float) -> None:
            await release.wait()

        monkeypatch.setattr(asyncio, "sleep", wait)
        app, wrong = app_with(token=TOKEN), ("Authorization", "Bearer wrong")
        tasks = [asyncio.create_task(asked(app, headers=[HOST, wrong])) for _ in range(60)]
        done, _ = await asyncio.wait(tasks, timeout=1)
        right = await asked(app, headers=[HOST, ("Authorization", f"Bearer {TOKEN}")])
        release.set()
        await asyncio.wait(tasks)
        return [right.status, *sorted(task.result().status for task in done)]

    assert asyncio.run(together()) == [200, *[429] * 20]


def test_it_grows_and_ends() -> None:
    delay = WrongTokenDelay()
    assert [delay.seconds_for("10.0.0.1") for _ in range(8)] == [0.25, 0.5, 1, 2, 4, 8, 8, 8]


def test_each_address_has_its_own() -> None:
    delay = WrongTokenDelay()
    delay.seconds_for("10.0.0.1")
    assert delay.seconds_for("10.0.0.2") == 0.25


def test_an_ipv6_client_cannot_change_its_address() -> None:
    assert network_of("2001:db8::1") == network_of("2001:db8::ffff:2") != network_of("2001:db8:0:1::1")
    assert network_of("::ffff:10.0.0.1") != network_of("::ffff:10.0.0.2")
    assert network_of("odd") == network_of("") == "unknown"


def test_it_forgets() -> None:
    now = 0.0
    delay = WrongTokenDelay(lambda: now)
    assert delay.seconds_for("10.0.0.1") < delay.seconds_for("10.0.0.1")
    now = 1000.0
    assert delay.seconds_for("10.0.0.1") == 0.25
    delay.seconds_for("10.0.0.1")
    delay.forget("10.0.0.1")
    assert delay.seconds_for("10.0.0.1") == 0.25


def test_its_memory_is_bounded() -> None:
    delay = WrongTokenDelay()
    for number in range(3 * MOST_ADDRESSES):
        delay.seconds_for(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(delay) == MOST_ADDRESSES
