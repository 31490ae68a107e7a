"""A real server in a thread of its own, and raw connections to it."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fastapi import FastAPI, Response

from necroscope.server.connection_limits import Connections
from necroscope.server.listening import ListenConfig, open_listener
from necroscope.server.openapi import new_app
from necroscope.server.origin_policy import names_of
from necroscope.server.serving import serve
from tests.server.asgi_client import app_with

LARGE_BYTES = 30_000_000  # more than all buffers between two programs hold


@dataclass(frozen=True)
class Running:
    """Where it listens, and what it counts."""

    port: int
    connections: Connections

    def connect(self, receive_buffer_bytes: int = 0) -> socket.socket:
        connection = socket.socket()
        if receive_buffer_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        connection.settimeout(15)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def ask(
        self, target: str = "/api/ping", headers: str = "", begin: str = "GET", body: bytes = b""
    ) -> bytes:
        """One request on a connection of its own, and everything that comes back."""
        with self.connect() as connection:
            connection.sendall(self.request(target, f"Connection: close\r\n{headers}", begin) + body)
            return read_all(connection)

    def request(self, target: str = "/api/ping", headers: str = "", begin: str = "GET") -> bytes:
        return f"{begin} {target} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{headers}\r\n".encode()


def read_all(connection: socket.socket) -> bytes:
    """Until the other end closes; a reset is an end, too."""
    received = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            received += piece
    return received


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def large_routes() -> FastAPI:
    routes = new_app()

    @routes.get("/api/large")
    async def large() -> Response:
        return Response(b"x" * LARGE_BYTES)

    return routes


@contextmanager
def running(
    *, most: int = 200, tls: ssl.SSLContext | None = None, token: str = "", routes: FastAPI | None = None
) -> Iterator[Running]:
    stops: list[Callable[[], None]] = []
    with open_listener(ListenConfig("127.0.0.1", 0), Connections(most)) as listener:
        port = listener.getsockname()[1]
        names = names_of(port, [], loopback=True, is_behind_proxy=False)
        app = app_with(routes or large_routes(), names=names, token=token)
        thread = threading.Thread(target=serve, args=(app, listener, tls, stops.append))
        thread.start()
        try:
            yield Running(port, listener.connections)
        finally:
            until(lambda: bool(stops))
            stops[0]()
            thread.join(10)
            assert not thread.is_alive()


def until(is_so: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)
