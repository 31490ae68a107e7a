"""Serve the metrics over HTTP: one loop in one thread, so that no number of clients makes it expensive.

Connections are bounded in number and in time. When all places are taken, the oldest connection whose request
is incomplete, or which has its answer, makes room for the new one; and if those that do not read their
answers have more than half of the places, the oldest of them. A client that asks at once is therefore
answered, however many others keep connections half-open, send a byte now and then, or never read.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from necroscope.exporter.exposition import CONTENT_TYPE
from necroscope.model.visible_text import LINES, visible_text

MAX_CONNECTIONS = 256
SEND_BUFFER_BYTES = 65536  # of the kernel, for each connection: what one that never reads costs
BACKLOG = 1024  # connections that the kernel keeps for us while Python is busy elsewhere
ACCEPTS_AT_ONCE = 32  # fewer than MAX_CONNECTIONS: a new connection is not dropped in its own turn
PAUSE_SECONDS = 0.01  # after so many: a flood gets 3,200 connections per second, and a tenth of a CPU
MAX_REQUEST_BYTES = 8192  # of a request line and its headers; nothing else is read
FRESH_SECONDS = 1.0
PLAIN = "text/plain; charset=utf-8"
REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
}


class MetricsServer:
    """GET /metrics and /healthz. With port 0, `port` is a free one; a port in use is an OSError."""

    def __init__(self, host: str, port: int, render: Callable[[], str]) -> None:
        self._loop = _Loop(_listener(host, port), _Answers(render))
        self.port = int(self._loop.listener.getsockname()[1])
        self._thread = threading.Thread(target=self._loop.run, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering. Open connections do not delay this."""
        self._loop.end()
        self._thread.join()


class _State(Enum):
    ASKING = "its request is incomplete"
    READING = "part of its answer has not been sent"
    LEAVING = "its answer has been sent, and it has not closed yet"


LIMIT_SECONDS = {_State.ASKING: 5.0, _State.READING: 10.0, _State.LEAVING: 5.0}


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    since: float  # the monotonic time at which its state began
    state: _State = _State.ASKING
    request: bytearray = field(default_factory=bytearray)
    rest: memoryview = field(default_factory=lambda: memoryview(b""))  # of the answer: what is not sent yet


class _Loop:
    """Accept, read, answer and drop connections until the end."""

    def __init__(self, listener: socket.socket, answers: _Answers) -> None:
        self.listener = listener
        self._answers = answers
        self._wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        # By descriptor, the oldest first.
        self._open: dict[_State, dict[int, _Connection]] = {state: {} for state in _State}
        self._ending = False

    def __len__(self) -> int:
        return sum(map(len, self._open.values()))

    def end(self) -> None:
        """Have `run` return; may be called from any thread."""
        self._ending = True
        os.eventfd_write(self._wakeup, 1)

    def run(self) -> None:
        """Serve until the end, then close everything."""
        while not self._ending:
            self._turn()
        for group in self._open.values():
            for connection in group.values():
                connection.socket.close()
        self._selector.close()
        self.listener.close()
        os.close(self._wakeup)

    def _turn(self) -> None:
        """Do what can be done now. What has arrived is read before anything new is accepted."""
        accepting = False
        for key, _ in self._selector.select(1.0 if len(self) else None):
            if key.data:
                self._proceed(key.data)
            accepting = accepting or key.fileobj is self.listener
        self._drop_overdue()
        if accepting and self._accept():
            time.sleep(PAUSE_SECONDS)

    def _accept(self) -> bool:
        """Accept new connections. Return whether there may be more."""
        for _ in range(ACCEPTS_AT_ONCE):
            try:
                accepted, _ = self.listener.accept()
            except BlockingIOError:
                return False
            except OSError:  # no descriptor is left, or the client has gone again
                self._make_room(max(len(self) - 1, 0))
                return True
            self._make_room(MAX_CONNECTIONS - 1)
            self._begin(accepted)
        return True

    def _begin(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        connection = _Connection(accepted, time.monotonic())
        self._open[_State.ASKING][accepted.fileno()] = connection
        self._selector.register(accepted, selectors.EVENT_READ, connection)

    def _make_room(self, most: int) -> None:
        while len(self) > most:
            oldest = self._oldest()
            if oldest.state is _State.ASKING:
                self._receive(oldest)  # its request may be complete by now: then another one goes
                if oldest.state is not _State.ASKING:
                    continue
            self._drop(oldest)

    def _oldest(self) -> _Connection:
        """Return the connection to drop next: a reader only if readers have more than half of the places."""
        groups = [group for state, group in self._open.items() if group and state is not _State.READING]
        readers = self._open[_State.READING]
        if not groups or len(readers) > MAX_CONNECTIONS // 2:
            groups = [readers]
        return min((next(iter(group.values())) for group in groups), key=lambda one: one.since)

    def _proceed(self, connection: _Connection) -> None:
        if connection.state is _State.READING:
            self._send(connection)
        else:
            self._receive(connection)

    def _receive(self, connection: _Connection) -> None:
        try:
            received = connection.socket.recv(MAX_REQUEST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:  # it has closed
            self._close(connection)
            return
        connection.request += received
        if connection.state is _State.LEAVING:
            if len(connection.request) > MAX_REQUEST_BYTES:
                self._drop(connection)
        elif answer := self._answers.to(connection.request):
            connection.rest = memoryview(answer)
            self._enter(connection, _State.READING)
            self._send(connection)

    def _send(self, connection: _Connection) -> None:
        try:
            sent_bytes = connection.socket.send(connection.rest)
            connection.rest = connection.rest[sent_bytes:]
            if not connection.rest:
                connection.socket.shutdown(socket.SHUT_WR)
                self._enter(connection, _State.LEAVING)
        except BlockingIOError:
            pass
        except OSError:  # it has gone
            self._close(connection)

    def _enter(self, connection: _Connection, state: _State) -> None:
        file = connection.socket.fileno()
        del self._open[connection.state][file]
        connection.state, connection.since = state, time.monotonic()
        self._open[state][file] = connection
        event = selectors.EVENT_WRITE if state is _State.READING else selectors.EVENT_READ
        self._selector.modify(connection.socket, event, connection)

    def _drop_overdue(self) -> None:
        now = time.monotonic()
        for state, group in self._open.items():
            while group and now - (oldest := next(iter(group.values()))).since > LIMIT_SECONDS[state]:
                self._drop(oldest)

    def _drop(self, connection: _Connection) -> None:
        """Close without leaving the kernel anything to deliver: that would take memory for minutes."""
        with suppress(OSError):
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._close(connection)

    def _close(self, connection: _Connection) -> None:
        if self._open[connection.state].pop(connection.socket.fileno(), None):
            self._selector.unregister(connection.socket)
            connection.socket.close()


def _listener(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)  # connections inherit it
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class _Answers:
    """Turn requests into answers.

    Text is rendered when it is asked for: a scrape every 15 s then costs a fifteenth of rendering every
    second. At most one rendering per second, however many ask.
    """

    def __init__(self, render: Callable[[], str]) -> None:
        self._render = render
        self._metrics = b""
        self._error = ""  # why the metrics cannot be rendered
        self._rendered = -FRESH_SECONDS

    def to(self, request: bytes | bytearray) -> bytes:
        """Return the answer to a request, or nothing while the request is incomplete."""
        if b"\r\n\r\n" not in request and b"\n\n" not in request:
            return _answer(431) if len(request) > MAX_REQUEST_BYTES else b""
        words = bytes(request).partition(b"\n")[0].split()
        if len(words) != 3 or not words[2].startswith(b"HTTP/"):
            return _answer(400)
        method, path = words[0], words[1].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _answer(501)
        answer = self._page(path)
        return answer if method == b"GET" else b"".join(answer.partition(b"\r\n\r\n")[:2])

    def _page(self, path: bytes) -> bytes:
        if path == b"/healthz":
            return _answer(200, b"ok\n")
        if path != b"/metrics":
            return _answer(404, b"there are /metrics and /healthz\n")
        if time.monotonic() - self._rendered < FRESH_SECONDS:
            return self._metrics
        self._rendered = time.monotonic()
        try:
            self._metrics = _answer(200, self._render().encode(), CONTENT_TYPE)
            self._error = ""
        except Exception:  # noqa: BLE001 - one metric that fails must not silence the port
            self._metrics = _answer(500)
            error = visible_text(traceback.format_exc(), LINES)
            if error != self._error and sys.stderr:  # once, however many ask
                sys.stderr.write(error)
                self._error = error
        return self._metrics


def _answer(status: int, body: bytes = b"", content_type: str = PLAIN) -> bytes:
    """Return an answer with its headers."""
    body = body or f"{REASONS[status]}\n".encode()
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
