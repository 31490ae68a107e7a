"""Real HTTP services on a loopback address that stand in for those of clouds and clusters."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What is asked (method, path, headers), and the answer: status, body and headers.
Asked = tuple[str, str, Mapping[str, str]]
Answer = tuple[int, bytes, Mapping[str, str]]
Answers = Callable[[str, str, Mapping[str, str]], Answer]


class Service(ThreadingHTTPServer):
    """A service, and what it was asked."""

    daemon_threads = True

    def __init__(self, answers: Answers, context: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.answers = answers
        self.asked: list[Asked] = []

    @property
    def place(self) -> str:
        """HOST:PORT"""
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Clients that hang up are what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        service = self.server
        assert isinstance(service, Service)
        headers = {name.lower(): value for name, value in self.headers.items()}
        service.asked.append((self.command, self.path, headers))
        status, body, more = service.answers(self.command, self.path, headers)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(answers: Answers, context: ssl.SSLContext | None = None) -> Iterator[Service]:
    """A service for as long as it takes."""
    service = Service(answers, context)
    threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield service
    finally:
        service.shutdown()
        service.server_close()


@contextmanager
def trickling(head: bytes, drop: bytes, every_s: float = 0.05) -> Iterator[str]:
    """A service that begins an answer and goes on for ever, a little at a time; gives HOST:PORT."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        is_over = threading.Event()

        def serve() -> None:
            with listener.accept()[0] as client:
                try:
                    client.sendall(head)
                    while not is_over.is_set():
                        client.sendall(drop)
                        time.sleep(every_s)
                except OSError:
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        is_over.set()
        thread.join()


def always(status: int, body: bytes, **headers: str) -> Answers:
    """The same answer to all."""
    return lambda *_: (status, body, {name.replace("_", "-"): value for name, value in headers.items()})
