"""What strangers send to a real server: nothing of ours leaks, nothing fails, and it goes on answering."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import pytest

from necroscope.server.openapi import whole_document
from tests.server.questions.sampled_store import BEGIN_US, sampled_store
from tests.server.running_server import read_all, status_of
from tests.server.served import Served, served
from tests.stored import HOST

TOKEN = "a-token-of-more-than-24-characters"
POST = "POST /api/session HTTP/1.1\r\nHost: HOST\r\n"
HIDDEN = "GET /api/hosts HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n\r\n"
SLOW_CONNECTIONS = 300
MOST_MEMORY_GROWTH_KB = 60_000
PATHS = (
    "../../../../etc/passwd",
    "..%2f..%2fetc/passwd",
    "/etc/passwd",
    "node-17/../../token",
    "a\x00b",
    "..\\..",
    ".",
)
GOOD = {"host": HOST, "begin_us": BEGIN_US, "end_us": BEGIN_US + 60_000_000, "since_us": BEGIN_US}


@dataclass(frozen=True)
class Target:
    """A server, and how to ask it."""

    server: Served
    token: str

    @property
    def port(self) -> int:
        return urlsplit(self.server.address).port or 0

    def get(self, target: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", target, headers={"Authorization": f"Bearer {self.token}", **headers})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def send(self, content: str) -> bytes:
        filled = content.replace("HOST", f"127.0.0.1:{self.port}").replace("TOKEN", self.token)
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            with suppress(ConnectionError):  # it may have seen enough before the end
                connection.sendall(filled.encode("latin-1"))
            return read_all(connection)

    def memory_kb(self) -> int:
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found
        return int(found[1])


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = tmp_path_factory.mktemp("abuse")
    sampled_store(folder / "store")
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    with served(folder / "store", "--token-file", str(folder / "token")) as server:
        yield Target(server, TOKEN)
        assert "Traceback" not in server.said()


def questions() -> list[tuple[str, list[dict[str, Any]]]]:
    paths = whole_document()["paths"]
    return [(path, entry["get"].get("parameters", [])) for path, entry in paths.items() if "get" in entry]


@pytest.mark.parametrize(
    ("path", "parameters"), questions(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_paths_in_every_parameter(target: Target, path: str, parameters: list[dict[str, Any]]) -> None:
    good = {each["name"]: GOOD[each["name"]] for each in parameters if each["name"] in GOOD}
    status, _ = target.get(f"{path}?{urlencode(good)}")
    assert status in (200, 404), "as it should be asked"
    for parameter in parameters:
        for hostile in PATHS:
            status, body = target.get(f"{path}?{urlencode({**good, parameter['name']: hostile})}")
            assert status < 500, (parameter["name"], hostile, body)
            assert b"root:" not in body and TOKEN.encode() not in body
            if parameter["name"] == "host":
                assert status in (400, 404)


@pytest.mark.parametrize("hostile", PATHS)
def test_paths_as_paths(target: Target, hostile: str) -> None:
    for begin in ("/", "/api/", "/api/hosts/", "/assets/"):
        status, body = target.get(begin + quote(hostile, safe="/%."))
        assert status in (400, 404), (begin, hostile)
        assert b"root:" not in body


def test_wrong_tokens_are_slow_and_the_right_one_is_not(target: Target) -> None:
    def guess(number: int) -> None:
        wrong = {"Authorization": f"Bearer {'x' * 20}{number:08}"}
        statuses.append(target.get("/api/hosts", **wrong)[0])

    statuses: list[int] = []
    guesses = [threading.Thread(target=guess, args=(number,)) for number in range(60)]
    for thread in guesses:
        thread.start()
    begin = time.monotonic()
    assert target.get("/api/hosts")[0] == 200
    assert time.monotonic() - begin < 10
    for thread in guesses:
        thread.join(30)
    assert time.monotonic() - begin > 4, "they had to wait"
    assert set(statuses) <= {401, 429} and len(statuses) == 60


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "169.254.169.254", ""])
def test_foreign_hosts(target: Target, host: str) -> None:
    for path in ("/", "/api/hosts", "/api/openapi.json"):
        status, body = target.get(path, Host=host)
        assert (status, json.loads(body)["error"]["slug"]) == (403, "foreign-request")


@pytest.mark.parametrize(
    "request_text",
    [
        POST + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
        POST + "Transfer-Encoding: chunked\r\n\r\nfffffff\r\n" + "x" * 100_000,
        POST + "Content-Length: 99999999999\r\n\r\n" + "x" * 100_000,
        "GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 9\r\n\r\n" + HIDDEN,
        "GET /api/hosts HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
        "GET /api/hosts?" + "cpu=1&" * 3000 + " HTTP/1.1\r\nHost: HOST\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: HOST\r\n" + "".join(f"X-{n}: y\r\n" for n in range(4000)) + "\r\n",
        "GET / HTTP/1.1\r\nHost: HOST\r\nX: \x00\r\n\r\n",
        "\x00" * 100_000,
    ],
)
def test_odd_requests(target: Target, request_text: str) -> None:
    answer = target.send(request_text)
    assert 400 <= status_of(answer) < 500 or not answer
    assert answer.count(b"HTTP/1.1 2") == 0, "nothing that was smuggled in is heard"
    assert target.get("/api/hosts")[0] == 200


def test_slow_connections(target: Target) -> None:
    before = target.memory_kb()
    with ExitStack() as stack:
        slow = []
        for number in range(SLOW_CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", target.port), timeout=10))
            with suppress(ConnectionError):
                connection.sendall(b"GET /api/hosts HTTP/1.1\r\nX: " + b"y" * (number % 1000))
            slow.append(connection)
        begin = time.monotonic()
        assert target.get("/api/hosts")[0] == 200, "who asks at once is heard"
        assert time.monotonic() - begin < 5
        assert target.memory_kb() - before < MOST_MEMORY_GROWTH_KB
        open_files = len(list(Path(f"/proc/{target.server.process.pid}/fd").iterdir()))
        assert open_files < 450
        for connection in slow:
            connection.settimeout(20)
            assert read_all(connection) == b"", "cut without an answer"
        assert time.monotonic() - begin < 20
    assert target.get("/api/hosts")[0] == 200


def test_many_questions_at_once(target: Target) -> None:
    def question() -> None:
        statuses.append(target.get(f"/api/flame?{urlencode(GOOD)}")[0])

    statuses: list[int] = []
    before = target.memory_kb()
    askers = [threading.Thread(target=question) for _ in range(80)]
    for thread in askers:
        thread.start()
    for thread in askers:
        thread.join(60)
    assert set(statuses) <= {200, 503} and len(statuses) == 80
    assert statuses.count(200) >= 32
    assert target.memory_kb() - before < MOST_MEMORY_GROWTH_KB
