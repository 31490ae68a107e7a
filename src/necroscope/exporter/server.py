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
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from necroscope.exporter.answers import MAX_REQUEST_BYTES, Answers

MAX_CONNECTIONS = 256
SEND_BUFFER_BYTES = 65536  # of the kernel, for each connection: what one that never reads costs
BACKLOG = 1024  # connections that the kernel keeps for us while Python is busy elsewhere
ACCEPTS_AT_ONCE = 32  # fewer than MAX_CONNECTIONS: a new connection is not dropped in its own turn
PAUSE_SECONDS = 0.01  # after so many: a flood gets 3,200 connections per second, and a tenth of a CPU


class MetricsServer:
    """GET /metrics and /healthz. With port 0, `port` is a free one; a port in use is an OSError."""

    def __init__(self, host: str, port: int, render: Callable[[], str]) -> None:
        self._loop = _Loop(_listener(host, port), Answers(render))
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

    def __init__(self, listener: socket.socket, answers: Answers) -> None:
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
