"""Serve the metrics over HTTP, from a thread of its own.

Text is rendered when it is asked for: a scrape every 15 s then costs a fifteenth of rendering every moment.
At most one rendering a second, however many ask, so that nobody can make the recorder expensive.
"""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from necroscope.exporter.exposition import CONTENT_TYPE

MOST_CONNECTIONS = 8
TIMEOUT_SECONDS = 5.0  # for one read or write
CONNECTION_SECONDS = 10.0  # for a whole connection: a client may send a letter every four seconds
FRESH_SECONDS = 1.0


class MetricsServer:
    """GET /metrics and /healthz. Port 0 is any free one, which `port` tells; a port in use is an OSError."""

    def __init__(self, host: str, port: int, render: Callable[[], str]) -> None:
        self._server = _Server(host, port, render)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more. Connections that are open do not hold this up."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 32  # with the 5 of http.server, a burst of clients waits a second to be refused

    def __init__(self, host: str, port: int, render: Callable[[], str]) -> None:
        self._render = render
        self._text = b""
        self._rendered = -FRESH_SECONDS
        self._text_lock = threading.Lock()
        self._since: dict[socket.socket, float] = {}  # the open connections
        self._since_lock = threading.Lock()
        self.address_family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        super().__init__((str(address[0]), int(address[1])), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would ask the DNS for our name.
        socketserver.TCPServer.server_bind(self)

    def text(self) -> bytes:
        """The metrics, a second old at most."""
        with self._text_lock:
            if time.monotonic() - self._rendered >= FRESH_SECONDS:
                self._text = self._render().encode()
                self._rendered = time.monotonic()
            return self._text

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection if there is room; those that take too long make room."""
        with self._since_lock:
            now = time.monotonic()
            for other, since in self._since.items():
                if now - since > CONNECTION_SECONDS:
                    self._cut(other)
            has_room = len(self._since) < MOST_CONNECTIONS
            if has_room:
                self._since[request] = now
        if has_room:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._since_lock:
            self._since.pop(request, None)
        super().shutdown_request(request)

    @staticmethod
    def _cut(connection: socket.socket) -> None:
        """Have the thread of a connection see its end."""
        with suppress(OSError):  # it is gone already
            connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not news; an error of ours goes to stderr."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = TIMEOUT_SECONDS
    server_version = "necroscope"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(200, CONTENT_TYPE, self.server.text())
        elif path == "/healthz":
            self._answer(200, "text/plain; charset=utf-8", b"ok\n")
        else:
            self._answer(404, "text/plain; charset=utf-8", b"there are /metrics and /healthz\n")

    do_HEAD = do_GET  # noqa: N815 - the name that http.server looks for

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: a scrape every few seconds is not news."""
