"""Stops the work on a request when its client closes the connection."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class CancelOnDisconnect:
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
