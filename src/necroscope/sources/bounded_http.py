"""A service that is asked over HTTP and must not hold anybody up: all of it within half a second.

It is asked once and no answer is an error: nothing is followed elsewhere, and an answer that is too long, too
late or not what it should be is none.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl
    from http.client import HTTPConnection

TIMEOUT_SECONDS = 0.5
MOST_BYTES = 1 << 20  # a Kubernetes node with all that it has pulled is 100 kB


class UnansweredError(Exception):
    """No answer, or none that helps."""


class Door:
    """A service that may be asked until its time is over."""

    def __init__(self, connection: HTTPConnection, connects_twice: bool) -> None:
        self._connection = connection
        self._until = time.monotonic() + TIMEOUT_SECONDS
        self._shares = 2 if connects_twice else 1  # a handshake comes behind the connection

    def ask(
        self, path: str, headers: Mapping[str, str], method: str = "GET"
    ) -> tuple[bytes, Mapping[str, str]]:
        """The body of an answer and its headers. UnansweredError: it is anything but 200."""
        if self._connection.sock is None:  # not yet, or the service has hung up behind its last answer
            self._connection.timeout = self._left() / self._shares
            self._connection.connect()
        with _hung_up_after(self._connection.sock, self._left()):
            self._connection.request(method, path, headers=dict(headers))
            answer = self._connection.getresponse()
            content = answer.read(MOST_BYTES + 1)
        self._left()
        if answer.status != 200 or len(content) > MOST_BYTES:
            raise UnansweredError(f"{answer.status} {answer.reason}" if answer.status != 200 else "too long")
        return content, {name.lower(): value for name, value in answer.getheaders()}

    def ask_text(self, path: str, headers: Mapping[str, str], method: str = "GET") -> str:
        """The same as text, without spaces around it."""
        return self.ask(path, headers, method)[0].decode().strip()

    def ask_json(self, path: str, headers: Mapping[str, str]) -> Any:
        """The same as JSON."""
        return json.loads(self.ask(path, headers)[0])

    def _left(self) -> float:
        seconds = self._until - time.monotonic()
        if seconds <= 0:
            raise UnansweredError("too late")
        return seconds


@contextmanager
def open_door(address: str, context: ssl.SSLContext | None = None) -> Iterator[Door]:
    """The service at `http://HOST:PORT`. UnansweredError: whatever goes wrong inside."""
    # Imported here: with mail and TLS behind it, it takes 30 ms and 4 MB of everybody else.
    import http.client

    connection: HTTPConnection | None = None
    try:
        where = urlsplit(address)
        host, port = where.hostname or "", where.port
        connection = (
            http.client.HTTPSConnection(host, port or 443, context=context)
            if context
            else http.client.HTTPConnection(host, port or 80)
        )
        connection.auto_open = 0  # or it would connect again, without a limit
        yield Door(connection, connects_twice=context is not None)
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise UnansweredError(str(error) or type(error).__name__) from error
    finally:
        if connection is not None:
            connection.close()


@contextmanager
def _hung_up_after(door: socket.socket, seconds: float) -> Iterator[None]:
    """A limit for all together: the time-out of a socket begins anew with every byte."""

    def hang_up() -> None:
        with suppress(OSError):  # closed meanwhile
            # Not its own shutdown: of an encrypted one, that would be a change under the reader's hands.
            socket.socket.shutdown(door, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
