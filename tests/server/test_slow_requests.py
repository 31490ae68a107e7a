"""A thousand slow requests at once, while a real recorder writes the store that they ask about."""

from __future__ import annotations

import resource
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.real.recorders import ask, recording, segments_of, why_not
from tests.server.served import Served, served

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]
REQUESTS = 1000
SECONDS = 20
MOST_MEMORY_GROWTH_KB = 80_000
MOST_FILES = 450  # 200 connections, as many that are being cut, and some of its own
QUESTIONS = ("hosts", "cores", "events", "zombies", "diagnosis", "scope", "flame", "culprit", "export")


@contextmanager
def many_files() -> Iterator[None]:
    """Enough open files for our ends of the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, 2 * REQUESTS) if soft != resource.RLIM_INFINITY else soft
    if hard != resource.RLIM_INFINITY and wanted > hard:
        pytest.skip(f"needs {wanted} open files, {hard} are permitted")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def memory_kb(server: Served) -> int:
    """How much memory it has had at most."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def open_files(server: Served) -> list[str]:
    """What each of its files is; one may be closed while we look."""
    found = []
    for path in Path(f"/proc/{server.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(path.readlink()))
    return sorted(found)


def sockets(server: Served) -> int:
    return sum(name.startswith("socket:") for name in open_files(server))


def slow_request(port: int, number: int, target: str) -> socket.socket:
    """One that asks and does not read, or one that does not come to an end; every other is the one."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(5)
    with suppress(OSError):  # it may be cut already
        connection.connect(("127.0.0.1", port))
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        connection.sendall((head + ("\r\n" if number % 2 else "X: ")).encode())
    return connection


def drip(connections: list[socket.socket]) -> None:
    """One more byte of each that is not complete."""
    for connection in connections[::2]:
        with suppress(OSError):
            connection.send(b"y", socket.MSG_DONTWAIT)


def answered(address: str) -> float:
    """How long it takes to be told of the hosts; one that is told to come again does, once more."""
    begin = time.monotonic()
    while True:
        try:
            with urllib.request.urlopen(f"{address}api/hosts", timeout=10) as answer:
                assert answer.status == 200
            return time.monotonic() - begin
        except urllib.error.HTTPError as error:
            assert error.code == 503 and time.monotonic() - begin < 15, error.code
            time.sleep(0.2)


def targets(store: Path) -> list[str]:
    """Every question about what is recorded until now."""
    (host,) = {segment.host for segment in segments_of(store)}
    end_us = time.time_ns() // 1000
    words = f"host={host}&begin_us={end_us - 60_000_000}&end_us={end_us}"
    return [f"/api/{name}?{words}" for name in QUESTIONS] + [f"/api/live?host={host}"]


def test_a_thousand_slow_requests_do_not_hurt_the_recorder(tmp_path: Path) -> None:
    store = tmp_path / "recorded" / "store"
    with many_files(), recording(store, "--segment", "5s") as one:
        time.sleep(6)  # a sealed segment
        with served(store) as server:
            for target in targets(store):  # it has all in memory that it will need
                with suppress(urllib.error.HTTPError):
                    urllib.request.urlopen(server.address.rstrip("/") + target, timeout=20).close()
            before_kb, before_sockets = memory_kb(server), sockets(server)
            most_files, slowest = ask_slowly(server, store)
            deadline = time.monotonic() + 5
            while sockets(server) > before_sockets and time.monotonic() < deadline:
                time.sleep(0.1)
            assert sockets(server) <= before_sockets, open_files(server)
            assert most_files < MOST_FILES
            assert memory_kb(server) - before_kb < MOST_MEMORY_GROWTH_KB
            assert slowest < 10, "who asks at once is heard"
            assert "Traceback" not in server.said()
        code, body = one.end()
    assert (code, body["findings"], one.said().count("capture-gap")) == (0, [], 0), one.said()
    begin = -(-segments_of(store)[0].begin_ns // 10**9)
    shown = ask("timeline", "--store", str(store), "-b", str(begin))
    assert shown["missing"] == 0 and shown["columns"] >= SECONDS


def ask_slowly(server: Served, store: Path) -> tuple[int, float]:
    """For some seconds: how many files the server had open at most, and how long an honest client waited."""
    port, questions = urlsplit(server.address).port or 0, targets(store)
    end, most_files, slowest = time.monotonic() + SECONDS, 0, 0.0
    with ExitStack() as stack:
        connections = [
            stack.enter_context(slow_request(port, number, questions[number // 2 % len(questions)]))
            for number in range(REQUESTS)
        ]
        assert len(connections) == REQUESTS
        while time.monotonic() < end:
            drip(connections)
            most_files = max(most_files, len(open_files(server)))
            slowest = max(slowest, answered(server.address))
            time.sleep(0.5)
    return most_files, slowest
