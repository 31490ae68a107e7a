"""How many connections there are, and for how long each may do nothing.

A connection counts from its accept to its close, also while TLS is not agreed upon yet. Its own socket
notes what is sent, so that a slow reader is seen behind TLS, too. When there is no room, whoever has waited
longest with half a request makes it: a client that asks at once is always heard.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

MOST_CONNECTIONS = 200
OTHER_FILES = 128  # for segments, and what Python itself has open
HANDSHAKE_SECONDS = 5.0
IDLE_SECONDS = 10.0  # until a request is there with all its headers, and between two of them
STUCK_SECONDS = 30.0  # of a reader that takes nothing
LONGEST_SECONDS = 600.0  # for one answer, however slowly it is read
ACCEPTS_AT_ONCE = 100
MAX_UNSENT_BYTES = 256 << 20  # of all answers that are read too slowly; the largest has some 30 MB

Peer = tuple[Any, ...]


class Connection(socket.socket):
    """An accepted connection that knows since when it waits, and for what."""

    def __init__(self, listener: socket.socket, file: int, connections: Connections) -> None:
        super().__init__(listener.family, listener.type, listener.proto, fileno=file)
        self.setblocking(False)
        self._connections = connections
        self.is_ready = False  # TLS is agreed upon, where there is any
        self.is_answering = False
        self.is_stuck = False  # the last send could not send all
        self.transport: asyncio.WriteTransport | None = None  # keeps what was not sent yet
        self._left_bytes = 0  # of the last send
        self.since = self.sent_at = connections.now()

    def send(self, data: Any, flags: int = 0, /) -> int:
        """Send, and note how far it came."""
        return self._noted(lambda: super(Connection, self).send(data, flags), len(data))

    def sendmsg(self, buffers: Iterable[Any], *rest: Any) -> int:
        """The same for several pieces; what asyncio uses since Python 3.12."""
        pieces = list(buffers)
        return self._noted(lambda: super(Connection, self).sendmsg(pieces, *rest), sum(map(len, pieces)))

    def _noted(self, send: Callable[[], int], wanted_bytes: int) -> int:
        try:
            sent_bytes = send()
        except (BlockingIOError, InterruptedError):
            self._left_bytes = wanted_bytes
            self._note(stuck=True, moved=False)
            raise
        self._left_bytes = wanted_bytes - sent_bytes
        self._note(stuck=sent_bytes < wanted_bytes, moved=sent_bytes > 0)
        return sent_bytes

    def _note(self, *, stuck: bool, moved: bool) -> None:
        if moved or not self.is_stuck:
            self.sent_at = self._connections.now()
        self.is_stuck = stuck

    def close(self) -> None:
        """Close, and make room."""
        self._connections.forget(self)
        super().close()

    def step(self, *, answering: bool) -> None:
        """A request is there, or answered: another time begins."""
        self.is_ready, self.is_answering, self.since = True, answering, self._connections.now()

    def unsent_bytes(self) -> int:
        """How much of an answer is kept for a client that has not read it yet."""
        waiting_bytes = self.transport.get_write_buffer_size() if self.transport else 0
        return max(waiting_bytes, self._left_bytes)  # TLS encrypts first: then it waits to be sent

    def is_overdue(self, now: float) -> bool:
        """Whether it has had its time."""
        if now - self.since > LONGEST_SECONDS:
            return True
        if self.is_stuck:
            return now - self.sent_at > STUCK_SECONDS
        limit = IDLE_SECONDS if self.is_ready else HANDSHAKE_SECONDS
        return not self.is_answering and now - max(self.since, self.sent_at) > limit

    def cut(self) -> None:
        """Have the event loop see the end of it; what was not read is dropped."""
        with suppress(OSError):  # it is gone already
            self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.shutdown(socket.SHUT_RDWR)


class Connections:
    """All open connections, by the address of the other end."""

    def __init__(self, most: int | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.most = most or most_connections()
        self.now = now
        self._open: dict[Peer, Connection] = {}
        self._leaving: set[Connection] = set()  # cut, and not closed yet
        self._has_cut = False

    def __len__(self) -> int:
        return len(self._open) + len(self._leaving)

    def admit(self, connection: Connection, peer: Peer) -> bool:
        """Count a new connection, if there is room or somebody to make it."""
        if len(self._open) >= self.most and not self._make_room():
            return False
        if len(self) >= 2 * self.most:  # those that were cut come to their end first
            return False
        self._open[peer] = connection
        return True

    def _make_room(self) -> bool:
        waiting = [entry for entry in self._open.items() if not entry[1].is_answering]
        if waiting:
            self._cut(*min(waiting, key=lambda entry: entry[1].since))
        return bool(waiting)

    def _cut(self, peer: Peer, connection: Connection) -> None:
        del self._open[peer]
        self._leaving.add(connection)
        self._has_cut = True
        connection.cut()

    def has_to_wait(self) -> bool:
        """Whether the event loop should come by, to close what was cut, before the next is accepted."""
        has_cut, self._has_cut = self._has_cut, False
        return has_cut

    def forget(self, connection: Connection) -> None:
        """It is closed."""
        self._leaving.discard(connection)
        for peer in [peer for peer, other in self._open.items() if other is connection]:
            del self._open[peer]

    def step(self, peer: Peer | None, *, answering: bool) -> None:
        """Note that a connection is ready, has a request, or has been answered."""
        connection = self._open.get(tuple(peer)[:2]) if peer else None
        if connection:
            connection.step(answering=answering)

    def opened(self, peer: Peer | None, transport: asyncio.WriteTransport) -> None:
        """Note that a connection is ready, and what it sends by."""
        connection = self._open.get(tuple(peer)[:2]) if peer else None
        if connection:
            connection.transport = transport
            connection.step(answering=False)

    async def sweep(self) -> None:
        """End those that had their time, and those that read too slowly; called every second."""
        now = self.now()
        for peer, connection in list(self._open.items()):
            if connection.is_overdue(now):
                self._cut(peer, connection)
        self._bound_unsent()

    def _bound_unsent(self) -> None:
        """Cut those who have read the longest, until the others do not take too much memory."""
        readers = [(one.since, one.unsent_bytes(), peer, one) for peer, one in self._open.items()]
        total = sum(unsent for _, unsent, _, _ in readers)
        for _, unsent, peer, connection in sorted(readers, key=lambda reader: reader[0]):
            if total <= MAX_UNSENT_BYTES:
                return
            if unsent:
                total -= unsent
                self._cut(peer, connection)


class Listener(socket.socket):
    """A listening socket whose connections are counted."""

    connections: Connections

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection there is room for; the others are closed at once."""
        if self.connections.has_to_wait():
            raise BlockingIOError
        for _ in range(ACCEPTS_AT_ONCE):
            file, address = self._accept()  # type: ignore[attr-defined]  # how socket.accept does it
            connection = Connection(self, file, self.connections)
            if self.connections.admit(connection, tuple(address)[:2]):
                return connection, address
            connection.close()
        raise BlockingIOError  # the event loop has other things to do as well


def most_connections() -> int:
    """As many as we want, or as the limit of open files leaves room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(min(MOST_CONNECTIONS, (soft - OTHER_FILES) // 2), 4)
