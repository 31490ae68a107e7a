"""The server answers, and no client can hold it up."""

from __future__ import annotations

import errno
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from necroscope.exporter import server as server_module
from necroscope.exporter.exposition import CONTENT_TYPE
from necroscope.exporter.server import MetricsServer

TEXT = "necroscope_cores 2\n"


@contextmanager
def serving(render: Callable[[], str] = lambda: TEXT, host: str = "127.0.0.1") -> Iterator[MetricsServer]:
    server = MetricsServer(host, 0, render)
    try:
        yield server
    finally:
        server.close()


def ask(
    server: MetricsServer, path: str, method: str = "GET", host: str = "127.0.0.1"
) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(host, server.port, timeout=5)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type", ""), answer.read().decode()
    finally:
        connection.close()


def test_paths_and_methods(capfd: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        assert ask(server, "/metrics") == (200, CONTENT_TYPE, TEXT)
        assert ask(server, "/metrics?name[]=x") == (200, CONTENT_TYPE, TEXT)
        assert ask(server, "/metrics", "HEAD") == (200, CONTENT_TYPE, "")
        assert ask(server, "/healthz")[::2] == (200, "ok\n")
        assert ask(server, "/")[0] == ask(server, "/metrics/x")[0] == 404
        assert ask(server, "/metrics", "POST")[0] == 501
    assert capfd.readouterr() == ("", "")


def test_the_head_tells_the_length() -> None:
    with serving() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        connection.request("HEAD", "/metrics")
        assert connection.getresponse().getheader("Content-Length") == str(len(TEXT))
        connection.close()


def test_many_scrapes_in_a_second_render_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[int] = []

    def render() -> str:
        rendered.append(1)
        return str(len(rendered))

    with serving(render) as server:
        assert rendered == []  # nobody asked
        assert [ask(server, "/metrics")[2] for _ in range(5)] == ["1"] * 5
        monkeypatch.setattr(server_module, "FRESH_SECONDS", 0.0)
        assert ask(server, "/metrics")[2] == "2"


def test_ipv6() -> None:
    try:
        with serving(host="::1") as server:
            assert ask(server, "/healthz", host="::1")[0] == 200
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")


def test_a_port_that_is_taken() -> None:
    with serving() as server, pytest.raises(OSError, match="in use"):
        MetricsServer("127.0.0.1", server.port, lambda: TEXT)


def test_a_port_can_be_taken_again_at_once() -> None:
    with serving() as server:
        assert ask(server, "/healthz")[0] == 200
    again = MetricsServer("127.0.0.1", server.port, lambda: TEXT)
    assert ask(again, "/healthz")[0] == 200
    again.close()


def connect(stack: ExitStack, server: MetricsServer, sends: bytes = b"") -> socket.socket:
    client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5))
    client.sendall(sends)
    return client


def read_all(client: socket.socket) -> bytes:
    """Return everything until the server closes; a reset is an end, too."""
    received = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            received += piece
    return received


def test_who_sends_no_complete_request_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(server_module.LIMIT_SECONDS, server_module._State.ASKING, 0.5)
    with serving() as server, ExitStack() as stack:
        clients = [connect(stack, server, sends) for sends in (b"", b"GET /metrics HTTP/1.1\r\n")]
        assert [read_all(client) for client in clients] == [b"", b""]


def test_who_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(server_module.LIMIT_SECONDS, server_module._State.READING, 0.5)
    text = "x" * 30_000_000  # more than all buffers between two programs hold
    with serving(lambda: text) as server, ExitStack() as stack:
        client = connect(stack, server, b"GET /metrics HTTP/1.1\r\n\r\n")
        time.sleep(2)
        assert len(read_all(client)) < len(text)


def test_who_reads_slowly_gets_everything() -> None:
    text = "x" * 3_000_000
    with serving(lambda: text) as server, ExitStack() as stack:
        client = connect(stack, server, b"GET /metrics HTTP/1.1\r\n\r\n")
        received = 0
        while piece := client.recv(100_000):
            received += len(piece)
            time.sleep(0.02)
        assert received > len(text)


def test_who_stays_after_the_answer_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(server_module.LIMIT_SECONDS, server_module._State.LEAVING, 0.5)
    with serving() as server, ExitStack() as stack:
        client = connect(stack, server, b"GET /healthz HTTP/1.1\r\n\r\n")
        assert read_all(client).endswith(b"ok\n")
        time.sleep(2)
        with pytest.raises(OSError, match=r"reset|pipe"):
            for _ in range(3):
                client.sendall(b"x")
                time.sleep(0.1)


@pytest.mark.parametrize(
    ("sends", "status"),
    [
        (b"GET /healthz HTTP/1.0\n\n", 200),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 8000 + b"\r\n\r\n", 200),
        (b"GET /healthz\r\n\r\n", 400),
        (b"\x16\x03\x01\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"PUT /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 501),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"y" * 9000, 431),
    ],
)
def test_odd_requests(sends: bytes, status: int) -> None:
    with serving() as server, ExitStack() as stack:
        assert read_all(connect(stack, server, sends)).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_request_in_pieces() -> None:
    with serving() as server, ExitStack() as stack:
        client = connect(stack, server)
        for letter in b"GET /healthz HTTP/1.1\r\n\r\n":
            client.sendall(bytes([letter]))
            time.sleep(0.002)
        assert read_all(client).endswith(b"\r\n\r\nok\n")


def test_without_a_descriptor_for_a_connection_the_next_one_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accept, errors = socket.socket.accept, [OSError(errno.EMFILE, "Too many open files")] * 3

    def accept_later(listener: socket.socket) -> tuple[socket.socket, object]:
        if errors:
            raise errors.pop()
        return accept(listener)

    with serving() as server, ExitStack() as stack:
        half = connect(stack, server, b"GET /")
        time.sleep(0.2)
        monkeypatch.setattr(socket.socket, "accept", accept_later)
        assert ask(server, "/healthz")[0] == 200
        assert not errors
        assert read_all(half) == b"", "it made room"


def test_there_is_one_thread() -> None:
    before = threading.active_count()
    with serving() as server, ExitStack() as stack:
        for _ in range(20):
            connect(stack, server, b"GET /healthz HTTP/1.1\r\n")
        assert ask(server, "/healthz")[0] == 200
        assert threading.active_count() == before + 1


def test_a_client_that_leaves_is_not_news(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(lambda: "x" * 10_000_000) as server:
        client = socket.create_connection(("127.0.0.1", server.port))
        client.send(b"GET /metrics HTTP/1.0\r\n\r\n")
        client.close()
        assert ask(server, "/healthz")[0] == 200
        time.sleep(0.2)
    assert capfd.readouterr() == ("", "")


def test_an_error_of_ours_is(capfd: pytest.CaptureFixture[str]) -> None:
    with serving(lambda: str(1 // 0)) as server:
        for _ in range(10):
            assert ask(server, "/metrics")[0] == 500
        assert ask(server, "/healthz")[0] == 200
    assert capfd.readouterr().err.count("ZeroDivisionError") == 1, "once, however many ask"


def test_closing_does_not_wait_for_clients() -> None:
    with ExitStack() as stack:
        began = time.monotonic()
        with serving() as server:
            for _ in range(3):
                connect(stack, server)
        assert time.monotonic() - began < 5
