"""What may come in at all: methods, sizes, and bodies only where one is wanted.

h11 bounds the headers as long as they are incomplete (serving.py); those that come in one piece are measured
here.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from necroscope.errors import UsageError
from necroscope.server.failures import refusal

SESSION_PATH = "/api/session"
LONGEST_TARGET_BYTES = 8 * 1024
LARGEST_HEADERS_BYTES = 16 * 1024
MOST_HEADERS = 100
LARGEST_BODY_BYTES = 4 * 1024
BODY_SECONDS = 10.0
CLOSE = {"Connection": "close"}  # what follows on this connection could be the rest of a body


class Refused(Exception):  # noqa: N818 - caught in this file
    """A request that is not let in."""

    def __init__(self, status: int, what: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.headers = {**CLOSE, **(headers or {})}


class RequestLimits:
    """Lets through what the server understands; answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in with its whole body, or say why not."""
        if scope["type"] != "http":  # there are no WebSockets here
            return
        try:
            _check(scope)
            body = await _body(scope, receive)
        except Refused as refused:
            error = UsageError(refused.what, hint="/api/openapi.json says what is accepted")
            await refusal(refused.status, error, refused.headers)(scope, receive, send)
            return
        inbox: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def read() -> Message:
            return inbox.pop() if inbox else await receive()

        if scope["method"] == "HEAD":
            await self._app({**scope, "method": "GET"}, read, _without_body(send))
        else:
            await self._app(scope, read, send)


def _check(scope: Scope) -> None:
    target = scope.get("raw_path") or scope["path"].encode()
    if not target.startswith(b"/"):
        raise Refused(400, "the target of a request must be a path")
    if len(target) + len(scope["query_string"]) >= LONGEST_TARGET_BYTES:
        raise Refused(414, f"the address is longer than {LONGEST_TARGET_BYTES} bytes")
    headers = scope["headers"]
    if len(headers) > MOST_HEADERS or sum(len(n) + len(v) for n, v in headers) > LARGEST_HEADERS_BYTES:
        raise Refused(
            431, f"there are more than {MOST_HEADERS} headers or {LARGEST_HEADERS_BYTES} bytes of them"
        )
    allowed = ["POST"] if scope["path"] == SESSION_PATH else ["GET", "HEAD"]
    if scope["method"] not in allowed:
        what = f"{SESSION_PATH} takes POST" if allowed == ["POST"] else "this server only reads"
        raise Refused(405, what, {"Allow": ", ".join(allowed)})
    _check_framing(scope)


def _check_framing(scope: Scope) -> None:
    """A body has one length, said beforehand: then no proxy can see it end elsewhere."""
    names = [name for name, _ in scope["headers"]]
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if b"transfer-encoding" in names:
        both = bool(lengths)
        raise Refused(400 if both else 411, "Transfer-Encoding is not accepted: say the Content-Length")
    if scope["method"] == "POST" and not lengths:
        raise Refused(411, "a POST needs a Content-Length")
    if any(not value.isdigit() for value in lengths) or len(lengths) > 1:
        raise Refused(400, "Content-Length must be one number")
    if scope["method"] != "POST" and any(int(value[:20]) for value in lengths):
        raise Refused(400, f"a {scope['method']} has no body")
    if any(len(value) > 9 or int(value) > LARGEST_BODY_BYTES for value in lengths):
        raise Refused(413, f"the body is larger than {LARGEST_BODY_BYTES} bytes")


async def _body(scope: Scope, receive: Receive) -> bytes:
    """The body, counted whatever its length was said to be."""
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                body += bytes(message.get("body", b""))
                if len(body) > (LARGEST_BODY_BYTES if scope["method"] == "POST" else 0):
                    raise Refused(413, "the body is larger than it was said to be")
                if not message.get("more_body"):
                    return body
    except TimeoutError as error:
        raise Refused(408, f"the body did not arrive in {BODY_SECONDS:g} s") from error


def _without_body(send: Send) -> Send:
    """The head of an answer alone; its Content-Length stays what GET would say."""

    async def head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return head
