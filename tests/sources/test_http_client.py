"""The one HTTP client by real services; what each asks is tested with those who ask."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from necroscope.errors import ClusterError, UsageError
from necroscope.model.retry import Deadline
from necroscope.sources.http_client import (
    HttpClient,
    TooLateError,
    UnansweredError,
    parse_server,
    read_token,
)
from tests.sources.metadata_services import Answer, Answers, Service, always, serving, trickling


def echo(_: str, path: str, headers: Mapping[str, str]) -> Answer:
    return 200, f"{path} {headers.get('authorization')}".encode(), {}


@contextmanager
def client_of(answers: Answers, **options: Any) -> Iterator[tuple[Service, HttpClient]]:
    """A service, and a client of it."""
    with serving(answers) as service, HttpClient(f"http://{service.place}/base/", **options) as client:
        yield service, client


def test_the_token_is_read_before_each_request(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with client_of(echo, token=lambda: read_token(path)) as (_, client):
        for token in ("first", "second"):
            path.write_text(f"{token}\n")
            assert client.ask("GET", "/x").text() == f"/base/x Bearer {token}"


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with serving(echo) as elsewhere:
        leading = always(302, b"", Location=f"http://{elsewhere.place}/")
        with client_of(leading, token=lambda: "secret") as (_, client):
            assert client.ask("GET", "/").status == 302
        assert elsewhere.asked == []


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_an_address_without_a_port(scheme: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def refuse(address: tuple[str, int], *_: object, **__: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    with HttpClient(f"{scheme}://[fd00:ec2::254]") as client, pytest.raises(UnansweredError):
        client.ask("GET", "/")
    assert asked == [("fd00:ec2::254", port)]


def test_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with client_of(echo) as (_, client):
        assert client.ask("GET", "/x").status == 200


def test_a_kept_connection_that_was_closed_is_made_again() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                peer, _address = listener.accept()
                with peer:
                    peer.recv(10_000)
                    peer.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with HttpClient(f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            assert [client.ask("GET", "/").text() for _ in range(2)] == ["ok", "ok"]
        thread.join(10)


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["headers", "a slow body", "a body without a length", "chunks"],
)
def test_an_answer_that_never_ends_does(head: bytes, drop: bytes) -> None:
    with trickling(head, drop) as place, HttpClient(f"http://{place}", timeout_seconds=0.1) as client:
        began = time.monotonic()
        with pytest.raises(TooLateError, match=r"did not answer in full within 0\.4 s"):
            client.ask("GET", "/")
        assert time.monotonic() - began < 5


def test_a_server_that_is_silent_is_given_up_after_one_timeout() -> None:
    with (
        trickling(b"", b"") as place,
        HttpClient(f"http://{place}", timeout_seconds=0.1) as client,
        pytest.raises(TooLateError, match=r"did not answer within 0\.1 s$"),
    ):
        client.ask("GET", "/")


def test_a_deadline_is_for_all_requests_together() -> None:
    with client_of(echo, deadline=Deadline(0.5)) as (service, client):
        assert client.ask("GET", "/").status == 200
        time.sleep(0.55)
        with pytest.raises(TooLateError, match=r"within 0\.5 s, the limit of all requests together"):
            client.ask("GET", "/")
        assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (always(200, b"x" * 1001), "more than"),
        (always(200, b"[1", Content_Length="500", Connection="close"), "in the middle of an answer"),
    ],
    ids=["too large", "cut"],
)
def test_a_part_of_an_answer_is_none(answers: Answers, words: str) -> None:
    with client_of(answers, max_bytes=1000) as (_, client), pytest.raises(UnansweredError, match=words):
        client.ask("GET", "/")


@pytest.mark.parametrize("content", [b"{", b"[" * 200_000, b"\xff\xfe"])
def test_what_is_not_json(content: bytes) -> None:
    with client_of(always(200, content)) as (_, client):
        reply = client.ask("GET", "/")
    with pytest.raises(UnansweredError, match="cut or damaged"):
        reply.json()


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:8265", "ftp://x", "http://", "http://x:notaport", "http://me:secret@x", "http://x?token=a"],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_server(address)
    assert "secret" not in caught.value.what


@pytest.mark.parametrize("content", ["", "two words", "a\nheader: injected", "é"])
def test_what_is_no_token_is_refused_and_not_shown(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(ClusterError) as caught:
        read_token(path)
    assert "injected" not in caught.value.what
    with pytest.raises(ClusterError, match="No such file"):
        read_token(tmp_path / "none")
