"""A client opens connections and does not finish its requests, so that nobody else is answered.

On the metrics port of the recorder, eight half-open connections were enough: /metrics and /healthz were
refused, and a kubelet whose probe asks /healthz restarts the recorder. The page's server is attacked in the
same way.
"""

from __future__ import annotations

import http.client
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from necroscope.exporter.server import MetricsServer
from tests.server.running_server import running, status_of

TEXT = "necroscope_cores 2\n" * 5000  # as large as with per-core series of 96 CPUs
MOST_CONNECTIONS = 256
LIMIT_SECONDS = 2.0
HALF = b"GET /metrics HTTP/1.1\r\nHost: node\r\n"
COUNTS = (8, 2000)


@pytest.fixture(autouse=True)
def _many_files() -> Iterator[None]:
    """Both ends of all connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 5000:
        pytest.skip(f"at most {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def port() -> Iterator[int]:
    server = MetricsServer("127.0.0.1", 0, lambda: TEXT)
    yield server.port
    server.close()


def connect(port: int, sends: bytes = b"", source: str = "127.0.0.1", buffer_bytes: int = 0) -> socket.socket:
    client = socket.socket()
    if buffer_bytes:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    client.bind((source, 0))
    client.settimeout(10)
    client.connect(("127.0.0.1", port))
    with suppress(OSError):  # it has been dropped already
        client.sendall(sends)
    return client


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return bool(client.recv(65536))
    except BlockingIOError:
        return True
    except OSError:
        return False


def ask(port: int, path: str) -> tuple[int, str]:
    """Ask once, as a kubelet or Prometheus does: an error or more than LIMIT_SECONDS is a failure."""
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    assert time.monotonic() - begin < LIMIT_SECONDS
    return answer.status, body


def assert_answers(port: int) -> None:
    assert ask(port, "/healthz") == (200, "ok\n")
    assert ask(port, "/metrics") == (200, TEXT)


@pytest.mark.parametrize("sends", [b"", HALF], ids=["silent", "half a request"])
@pytest.mark.parametrize("count", COUNTS)
def test_half_open_connections(port: int, count: int, sends: bytes) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(port, sends)) for _ in range(count)]
        assert_answers(port)
        assert sum(map(is_open, clients)) <= MOST_CONNECTIONS


def test_half_open_connections_of_many_peers(port: int) -> None:
    with ExitStack() as stack:
        for number in range(1000):
            stack.enter_context(connect(port, HALF, f"127.1.{number // 250}.{number % 250 + 1}"))
        assert_answers(port)


@contextmanager
def coming_back(port: int, count: int, sends: bytes) -> Iterator[None]:
    """Keep connections open, send on each every now and then, and replace those that are dropped."""
    ending = threading.Event()

    def attack() -> None:
        clients = [connect(port, sends) for _ in range(count)]
        while not ending.wait(0.25):
            for number, client in enumerate(clients):
                try:
                    client.sendall(b"X")
                except OSError:
                    client.close()
                    clients[number] = connect(port, sends)
        for client in clients:
            client.close()

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def test_clients_that_drip_and_come_back(port: int) -> None:
    with coming_back(port, 2 * MOST_CONNECTIONS, b"GET /metrics HTTP/1.1\r\nX: "):
        for _ in range(8):
            time.sleep(0.5)
            assert_answers(port)


def test_clients_that_never_read() -> None:
    large = "x" * (4 << 20)  # more than the kernel takes for a client that does not read
    server = MetricsServer("127.0.0.1", 0, lambda: large)
    try:
        with ExitStack() as stack:
            for _ in range(2 * MOST_CONNECTIONS):
                stack.enter_context(connect(server.port, HALF + b"\r\n", buffer_bytes=4096))
            slow = stack.enter_context(connect(server.port))
            assert ask(server.port, "/healthz") == (200, "ok\n")
            assert ask(server.port, "/metrics") == (200, large)
            slow.sendall(HALF + b"\r\n")
            assert slow.recv(15) == b"HTTP/1.1 200 OK", "there is time to ask"
    finally:
        server.close()


def test_all_complete_requests_are_answered(port: int) -> None:
    """As many as there are places, while half-open connections hold all of them."""
    with ExitStack() as stack:
        for _ in range(MOST_CONNECTIONS):
            stack.enter_context(connect(port, HALF))
        asking = [stack.enter_context(connect(port, HALF)) for _ in range(MOST_CONNECTIONS)]
        for client in asking:
            client.sendall(b"\r\n")
        assert [client.recv(15) for client in asking] == [b"HTTP/1.1 200 OK"] * MOST_CONNECTIONS


def test_a_client_that_sends_without_end_is_dropped(port: int) -> None:
    for begin in (HALF + b"X: ", b"GET /healthz HTTP/1.1\r\n\r\n"):
        with connect(port, begin) as client, pytest.raises(OSError):
            for _ in range(10_000):
                client.sendall(b"x" * 65536)
    assert_answers(port)


def test_half_open_connections_to_the_page() -> None:
    with running() as page, ExitStack() as stack:
        clients = [stack.enter_context(connect(page.port, HALF)) for _ in range(500)]
        begin = time.monotonic()
        assert status_of(page.ask()) == 200
        assert time.monotonic() - begin < LIMIT_SECONDS
        assert sum(map(is_open, clients)) <= page.connections.most
