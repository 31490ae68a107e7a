"""Stands between a client and an S3, and notes every request: what a ship costs is counted in them."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

REQUEST = re.compile(rb"(GET|PUT|POST|HEAD|DELETE) (\S+) HTTP/1\.1\r\n")


@dataclass(slots=True)
class CountingProxy:
    """`requests` are (method, path), `sent_bytes` is what went to the server, heads of requests included."""

    port: int
    requests: list[tuple[str, str]] = field(default_factory=list)
    sent_bytes: int = 0

    def note(self, data: bytes) -> None:
        """Some of what a client sends."""
        self.sent_bytes += len(data)
        self.requests += [(found[1].decode(), found[2].decode()) for found in REQUEST.finditer(data)]

    def clear(self) -> None:
        """Count anew."""
        self.requests.clear()
        self.sent_bytes = 0


@contextmanager
def counting_proxy(server_port: int) -> Iterator[CountingProxy]:
    """A proxy to a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = CountingProxy(listener.getsockname()[1])
        threading.Thread(target=_accept, args=(listener, server_port, proxy), daemon=True).start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, server_port: int, proxy: CountingProxy) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = socket.create_connection(("127.0.0.1", server_port))
            threading.Thread(target=_relay, args=(client, server, proxy), daemon=True).start()
            threading.Thread(target=_relay, args=(server, client, None), daemon=True).start()


def _relay(source: socket.socket, target: socket.socket, proxy: CountingProxy | None) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            if proxy:
                proxy.note(data)
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
