"""The layers between a connection and the questions, the outermost first: each does one thing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from necroscope.server.failures import Failures, add_failures
from necroscope.server.gate import Gate
from necroscope.server.guard import Guard, Names
from necroscope.server.hidden_paths import folder_of
from necroscope.server.openapi import add_document
from necroscope.server.session import Sessions, TokenWanted
from necroscope.server.static import STATIC, StaticPage


@dataclass(frozen=True, slots=True)
class Settings:
    """What is served, to whom."""

    store: Path
    names: Names
    token: str = field(default="", repr=False)  # empty: everybody on this machine may ask
    is_secure: bool = False  # the browser speaks TLS, to us or to a proxy
    static: Path = STATIC
    fleet: str = ""  # the address of a place; empty: only the store is served


def layered(routes: FastAPI, settings: Settings) -> ASGIApp:
    """The routes with the page beside them, behind everything that a request has to pass."""
    add_failures(routes, (settings.store, *folder_of(settings.fleet)))
    add_document(routes)
    routes.mount("/", StaticPage(settings.static))
    app: ASGIApp = DepartedClients(routes)
    if settings.token:
        sessions = Sessions(settings.names.port, is_secure=settings.is_secure)
        app = TokenWanted(app, settings.token, sessions, is_behind_proxy=settings.names.is_behind_proxy)
    return Guard(Failures(Gate(app)), settings.names)


class DepartedClients:
    """Cancels the work on a request when its client closes the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, unless nobody is there to hear it. The body has been read before: it is small."""
        inbox = [await receive()]
        gone = asyncio.create_task(_departure(receive))
        work = asyncio.create_task(self._work(scope, inbox, gone, send))
        try:
            await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            work.cancel()  # nothing to one that is done
            await asyncio.wait({work})
            if not work.cancelled():
                work.result()
        finally:
            gone.cancel()
            work.cancel()

    async def _work(
        self, scope: Scope, inbox: list[Message], gone: asyncio.Task[Message], send: Send
    ) -> None:
        async def read() -> Message:
            return inbox.pop() if inbox else await asyncio.shield(gone)

        await self._app(scope, read, send)


async def _departure(receive: Receive) -> Message:
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message
