"""What a request gets: the metrics, `ok`, or an error.

Text is rendered when it is asked for: a scrape every 15 s then costs a fifteenth of rendering every second.
At most one rendering per second, however many ask.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable

from necroscope.exporter.exposition import CONTENT_TYPE
from necroscope.model.visible_text import LINES, visible_text

MAX_REQUEST_BYTES = 8192  # of a request line and its headers; nothing else is read
FRESH_SECONDS = 1.0
PLAIN = "text/plain; charset=utf-8"
REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
}


class Answers:
    """Turn requests into answers."""

    def __init__(self, render: Callable[[], str]) -> None:
        self._render = render
        self._metrics = b""
        self._error = ""  # why the metrics cannot be rendered
        self._rendered = -FRESH_SECONDS

    def to(self, request: bytes | bytearray) -> bytes:
        """Return the answer to a request, or nothing while the request is incomplete."""
        if b"\r\n\r\n" not in request and b"\n\n" not in request:
            return _answer(431) if len(request) > MAX_REQUEST_BYTES else b""
        words = bytes(request).partition(b"\n")[0].split()
        if len(words) != 3 or not words[2].startswith(b"HTTP/"):
            return _answer(400)
        method, path = words[0], words[1].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _answer(501)
        answer = self._page(path)
        return answer if method == b"GET" else b"".join(answer.partition(b"\r\n\r\n")[:2])

    def _page(self, path: bytes) -> bytes:
        if path == b"/healthz":
            return _answer(200, b"ok\n")
        if path != b"/metrics":
            return _answer(404, b"there are /metrics and /healthz\n")
        if time.monotonic() - self._rendered < FRESH_SECONDS:
            return self._metrics
        self._rendered = time.monotonic()
        try:
            self._metrics = _answer(200, self._render().encode(), CONTENT_TYPE)
            self._error = ""
        except Exception:  # noqa: BLE001 - one metric that fails must not silence the port
            self._metrics = _answer(500)
            error = visible_text(traceback.format_exc(), LINES)
            if error != self._error and sys.stderr:  # once, however many ask
                sys.stderr.write(error)
                self._error = error
        return self._metrics


def _answer(status: int, body: bytes = b"", content_type: str = PLAIN) -> bytes:
    """Return an answer with its headers."""
    body = body or f"{REASONS[status]}\n".encode()
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
