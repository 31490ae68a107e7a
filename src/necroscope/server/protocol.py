"""HTTP/1.1 as uvicorn speaks it with h11, and what we add: who waits for what, and our own refusals."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from necroscope.server.answers.failure import Failed, Failure
from necroscope.server.connection_limits import Connections
from necroscope.server.guard import HEADERS


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
    failure = Failure("usage", "the headers are too large" if too_large else "this is not HTTP/1.1", "")
    body = json.dumps(asdict(Failed(failure))).encode()
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
