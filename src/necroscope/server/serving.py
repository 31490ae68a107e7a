"""Runs the server until it is told to stop.

What bounds what
    connections at once, handshake, idle, slow readers   connection_limits.py, swept every second
    all headers of a request together                    h11_max_incomplete_event_size (answered with 431)
    between two requests                                 timeout_keep_alive, and connection_limits.py
    answers that are under way at the end                timeout_graceful_shutdown
    questions at once and waiting                        work.py
uvicorn's limit_concurrency is not used: it counts only after a TLS handshake, and answers 503.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from necroscope.server.connection_limits import IDLE_SECONDS, Connections, Listener
from necroscope.server.listening import BACKLOG
from necroscope.server.origin_policy import HEADERS
from necroscope.server.questions.failure import failed_json

LARGEST_HEAD_BYTES = 16 * 1024
LAST_ANSWERS_SECONDS = 1


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the verb, which has had them from its first moment on."""
        yield


def serve(
    app: ASGIApp,
    listener: Listener,
    tls: ssl.SSLContext | None,
    when_stopped: Callable[[Callable[[], None]], None],
) -> int:
    """Answer until stopped; how many requests there were."""
    connections = listener.connections
    config = uvicorn.Config(
        Answering(app, connections),
        loop="asyncio",
        http=protocol_of(connections),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="critical",  # who sends nonsense must not fill our log; failures.py tells what is our fault
        access_log=False,
        proxy_headers=False,  # nothing that a client says decides who it is, but see session.py
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=LAST_ANSWERS_SECONDS,
        h11_max_incomplete_event_size=LARGEST_HEAD_BYTES,
        callback_notify=connections.sweep,
        timeout_notify=1,
    )
    config.load()
    config.ssl = tls
    server = _Server(config)

    def stop() -> None:
        server.should_exit = True

    when_stopped(stop)
    asyncio.run(server.serve(sockets=[listener]))
    return server.server_state.total_requests


def protocol_of(connections: Connections) -> type[H11Protocol]:
    """The protocol of a server whose connections are counted."""

    class Protocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
            """Behind TLS this comes when the handshake is done."""
            super().connection_made(transport)
            connections.opened(self.client, transport)

        def send_400_response(self, msg: str) -> None:
            """Refuse what is not HTTP, in the form of all our refusals."""
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
                self.transport.write(_refused(self.conn, 431 if hint == 431 else 400))
            self.transport.close()

    return Protocol


def _refused(conn: h11.Connection, status: int) -> bytes:
    too_large = status == 431
    what = "the headers are too large" if too_large else "this is not HTTP/1.1"
    body = failed_json("usage", what, "")
    headers = [
        *HEADERS.items(),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    events = (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage())
    return b"".join(conn.send(event) or b"" for event in events)


class Answering:
    """Tells the connections which of them has a request that is being answered."""

    def __init__(self, app: ASGIApp, connections: Connections) -> None:
        self._app = app
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, on the clock of answers."""
        self._connections.step(scope.get("client"), answering=True)
        try:
            await self._app(scope, receive, send)
        finally:
            self._connections.step(scope.get("client"), answering=False)
