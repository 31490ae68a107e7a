"""The server answers, and no client can hold it up."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from necroscope.exporter import server as server_module
from necroscope.exporter.exposition import CONTENT_TYPE
from necroscope.exporter.server import MOST_CONNECTIONS, MetricsServer

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


def idle_clients(stack: ExitStack, server: MetricsServer, count: int) -> list[socket.socket]:
    clients = [
        stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(count)
    ]
    time.sleep(0.2)
    return clients


def serving_threads() -> int:
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


def test_clients_that_say_nothing_are_bounded_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module._Handler, "timeout", 3.0)
    with serving() as server, ExitStack() as stack:
        before = serving_threads()
        clients = idle_clients(stack, server, MOST_CONNECTIONS + 20)
        assert serving_threads() - before <= MOST_CONNECTIONS
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask(server, "/healthz")
        for client in clients:
            client.settimeout(5)
            assert client.recv(100) == b""
        assert ask(server, "/healthz")[0] == 200


def test_clients_that_drip_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTION_SECONDS", 0.5)
    with serving() as server, ExitStack() as stack:
        for client in idle_clients(stack, server, MOST_CONNECTIONS):
            client.send(b"G")
        time.sleep(0.5)
        deadline = time.monotonic() + 4  # less than the time-out for a read
        while time.monotonic() < deadline:
            try:
                assert ask(server, "/healthz")[0] == 200
                return
            except OSError:  # the first to come only makes room
                time.sleep(0.05)
        pytest.fail("no room was made")


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
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask(server, "/metrics")
        assert ask(server, "/healthz")[0] == 200
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_closing_does_not_wait_for_clients() -> None:
    with ExitStack() as stack:
        began = time.monotonic()
        with serving() as server:
            idle_clients(stack, server, 3)
        assert time.monotonic() - began < 2
