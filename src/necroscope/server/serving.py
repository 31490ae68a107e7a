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
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from necroscope.server.connection_limits import IDLE_SECONDS, Listener
from necroscope.server.listening import BACKLOG
from necroscope.server.protocol import Answering, protocol_of

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
