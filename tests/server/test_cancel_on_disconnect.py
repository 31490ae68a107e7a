from __future__ import annotations

import asyncio

from starlette.types import Message, Receive, Scope, Send

from necroscope.server.cancel_on_disconnect import CancelOnDisconnect
from tests.server.asgi_client import asked, scope_of


def test_who_stays_is_answered_and_their_body_arrives() -> None:
    async def app(_: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body[::-1]})

    assert asyncio.run(asked(CancelOnDisconnect(app), body=[b"abc"])).body == b"cba"


def test_work_for_who_left_is_cancelled() -> None:
    events: list[str] = []

    async def app(_: Scope, __: Receive, ___: Send) -> None:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    messages: list[Message] = [
        {"type": "http.request", "body": b"", "more_body": False},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        await asyncio.sleep(0.01)
        return messages.pop(0)

    async def send(_: Message) -> None:
        events.append("sent")

    async def leave() -> None:
        async with asyncio.timeout(2):
            await CancelOnDisconnect(app)(scope_of("/", [], "GET"), receive, send)

    asyncio.run(leave())
    assert events == ["begun", "cancelled"]


def test_errors_come_through() -> None:
    async def app(_: Scope, __: Receive, ___: Send) -> None:
        raise ValueError("odd")

    try:
        asyncio.run(asked(CancelOnDisconnect(app)))
    except ValueError as error:
        assert str(error) == "odd"
    else:
        raise AssertionError("it was swallowed")
