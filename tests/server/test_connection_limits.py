from __future__ import annotations

import resource
import socket
import ssl
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from necroscope.server import connection_limits
from necroscope.server.connection_limits import Connections, most_connections
from necroscope.server.listening import ListenConfig, tls_of
from tests.server.running_server import LARGE_BYTES, Running, read_all, running, status_of, until
from tests.server.test_listening import made_certificate


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "HANDSHAKE_SECONDS", 0.5)
    monkeypatch.setattr(connection_limits, "IDLE_SECONDS", 1.0)
    monkeypatch.setattr(connection_limits, "STUCK_SECONDS", 2.0)


def seconds_until_cut(connection: socket.socket) -> float:
    begin = time.monotonic()
    read_all(connection)
    return time.monotonic() - begin


def test_who_sends_no_request_is_cut() -> None:
    with running() as server, server.connect() as silent, server.connect() as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert seconds_until_cut(silent) < 4
        assert seconds_until_cut(half) < 4
        until(lambda: len(server.connections) == 0)


def test_who_sends_a_letter_now_and_then_is_cut() -> None:
    with running() as server, server.connect() as drip:
        begin = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() - begin < 8:
                drip.sendall(b"G")
                time.sleep(0.2)
        assert time.monotonic() - begin < 5


def test_a_connection_is_used_again_and_cut_when_idle() -> None:
    with running() as server, server.connect() as connection:
        for _ in range(3):
            connection.sendall(server.request())
            received = b""
            while b'"pong"' not in received:
                received += connection.recv(65536) or b'cut: "pong"'
            assert not received.startswith(b"cut")
            time.sleep(0.6)
        assert seconds_until_cut(connection) < 4


def test_who_does_not_read_is_cut() -> None:
    with running() as server, server.connect(receive_buffer_bytes=4096) as lazy:
        lazy.sendall(server.request("/api/large"))
        until(lambda: len(server.connections) == 1)
        time.sleep(1.5)
        assert len(server.connections) == 1, "it has its time"
        until(lambda: len(server.connections) == 0)
        assert len(read_all(lazy)) < LARGE_BYTES


def test_who_reads_slowly_gets_everything() -> None:
    with running() as server, server.connect(receive_buffer_bytes=65536) as slow:
        slow.sendall(server.request("/api/large", "Connection: close\r\n"))
        received = 0
        begin = time.monotonic()
        while time.monotonic() - begin < 4:
            received += len(slow.recv(65536))
            time.sleep(0.05)
        assert received + len(read_all(slow)) > LARGE_BYTES


@pytest.mark.parametrize("with_tls", [False, True])
def test_the_first_of_many_who_read_a_byte_now_and_then_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_tls: bool
) -> None:
    """Any byte is progress; what is kept for them together is bounded."""
    monkeypatch.setattr(connection_limits, "MAX_UNSENT_BYTES", 2 * LARGE_BYTES)
    certificate, key = made_certificate(tmp_path)
    tls = tls_of(ListenConfig("127.0.0.1", 0, True, certificate, key)) if with_tls else None
    with running(tls=tls) as server, ExitStack() as stack:
        slow = [
            stack.enter_context(
                encrypted(server, certificate) if with_tls else server.connect(receive_buffer_bytes=4096)
            )
            for _ in range(5)
        ]
        for connection in slow:
            connection.sendall(server.request("/api/large"))
            connection.recv(1)
        until(lambda: 1 <= len(server.connections) <= 2)
        assert sum(len(read_all(one)) > LARGE_BYTES / 2 for one in slow) >= 1, "some are heard"


def test_there_is_a_most_and_who_asks_at_once_is_heard() -> None:
    with running(most=5) as server:
        silent = [server.connect() for _ in range(12)]
        assert status_of(server.ask()) == 200
        assert len(server.connections) <= 10
        for connection in silent:
            connection.close()


def test_before_the_handshake_is_done_it_counts_and_is_cut(tmp_path: Path) -> None:
    certificate, key = made_certificate(tmp_path)
    with running(most=5, tls=tls_of(ListenConfig("127.0.0.1", 0, True, certificate, key))) as server:
        silent = [server.connect() for _ in range(3)]
        until(lambda: len(server.connections) == 3)
        assert all(seconds_until_cut(connection) < 3 for connection in silent)
        until(lambda: len(server.connections) == 0)
        assert status_of(ask_with_tls(server, certificate)) == 200


def test_behind_tls_who_does_not_read_is_cut(tmp_path: Path) -> None:
    certificate, key = made_certificate(tmp_path)
    tls = tls_of(ListenConfig("127.0.0.1", 0, True, certificate, key))
    with running(tls=tls) as server, encrypted(server, certificate) as lazy:
        lazy.sendall(server.request("/api/large"))
        time.sleep(1.5)
        assert len(server.connections) == 1
        until(lambda: len(server.connections) == 0)


def encrypted(server: Running, certificate: Path) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(certificate))
    return context.wrap_socket(server.connect(4096), server_hostname="localhost")


def ask_with_tls(server: Running, certificate: Path) -> bytes:
    with encrypted(server, certificate) as connection:
        connection.sendall(server.request(headers="Connection: close\r\n"))
        return read_all(connection)


def test_the_limit_of_open_files_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((1024, 200), (256, 64), (20, 4), (resource.RLIM_INFINITY, 200)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert most_connections() == most
    assert Connections().most == 200
