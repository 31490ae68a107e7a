from __future__ import annotations

import pytest

from necroscope.server import request_limits
from tests.server.asgi_client import HOST, TOKEN, app_with, ask

LENGTH = ("Content-Length", "5")


def test_get_is_let_in() -> None:
    told = ask(app_with())
    assert (told.status, told.body) == (200, b'"pong"')


def test_head_is_get_without_the_body() -> None:
    told = ask(app_with(), method="HEAD")
    assert (told.status, told.body, told.header("content-length")) == (200, b"", "6")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "BREW"])
@pytest.mark.parametrize("target", ["/", "/api/ping"])
def test_other_methods_are_refused(method: str, target: str) -> None:
    told = ask(app_with(), target, method=method)
    assert (told.status, told.header("allow")) == (405, "GET, HEAD")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT"])
def test_a_session_is_posted(method: str) -> None:
    told = ask(app_with(token=TOKEN), "/api/session", method=method)
    assert (told.status, told.header("allow")) == (405, "POST")


def test_no_session_where_no_token_is_wanted() -> None:
    assert ask(app_with(), "/api/session", [HOST, LENGTH], "POST", [b"12345"]).status == 404


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_transfer_encoding_is_refused(method: str) -> None:
    chunked = ("Transfer-Encoding", "chunked")
    target = "/api/session" if method == "POST" else "/api/ping"
    assert ask(app_with(token=TOKEN), target, [HOST, chunked], method).status == 411
    assert ask(app_with(token=TOKEN), target, [HOST, chunked, LENGTH], method).status == 400


@pytest.mark.parametrize("length", ["-1", "+5", "1,2", "5 5", "", "\xb2"])
def test_odd_lengths_are_refused(length: str) -> None:
    told = ask(app_with(token=TOKEN), "/api/session", [HOST, ("Content-Length", length)], "POST")
    assert told.status == 400


def test_two_lengths_are_refused() -> None:
    headers = [HOST, LENGTH, ("Content-Length", "6")]
    assert ask(app_with(token=TOKEN), "/api/session", headers, "POST").status == 400


def test_a_get_has_no_body() -> None:
    told = ask(app_with(), headers=[HOST, LENGTH], body=[b"12345"])
    assert (told.status, told.header("connection")) == (400, "close")


def test_bytes_are_counted_whatever_the_length_says() -> None:
    pieces = [b"x" * 1000] * 5
    told = ask(app_with(token=TOKEN), "/api/session", [HOST, LENGTH], "POST", pieces)
    assert (told.status, told.header("connection")) == (413, "close")


@pytest.mark.parametrize("length", ["4097", "9" * 5000])
def test_a_large_body_is_refused_before_it_comes(length: str) -> None:
    told = ask(app_with(token=TOKEN), "/api/session", [HOST, ("Content-Length", length)], "POST", [])
    assert told.status == 413


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.05)
    told = ask(app_with(token=TOKEN), "/api/session", [HOST, LENGTH], "POST", [])
    assert (told.status, told.header("connection")) == (408, "close")


def test_long_addresses_are_refused() -> None:
    assert ask(app_with(), "/api/ping?x=" + "y" * 8000).status == 200
    assert ask(app_with(), "/api/ping?x=" + "y" * 8192).status == 414


@pytest.mark.parametrize("target", ["http://127.0.0.1:8420/api/ping", "*", "evil:443"])
def test_the_target_is_a_path(target: str) -> None:
    assert ask(app_with(), target).status == 400


@pytest.mark.parametrize("headers", [[("X", "y" * 17_000)], [("X", "y")] * 200])
def test_many_or_large_headers_are_refused(headers: list[tuple[str, str]]) -> None:
    assert ask(app_with(), headers=[HOST, *headers]).status == 431
