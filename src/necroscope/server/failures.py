"""Whatever goes wrong becomes one JSON object: slug, what, hint. What is our fault gives nothing away."""

from __future__ import annotations

import asyncio
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from necroscope.errors import (
    BusyError,
    CannotLookError,
    ForeignRequestError,
    NecroscopeError,
    NoSamplesError,
    NothingRecordedError,
    NotInstalledError,
    PlaceError,
    StoreError,
    TokenWantedError,
    UsageError,
)
from necroscope.model.visible_text import LINES, visible_text
from necroscope.server.questions.failure import failed_json, without_paths

# The first class that fits. A damaged store is an error only where nothing else is left to answer with.
STATUSES: dict[type[NecroscopeError], int] = {
    UsageError: 400,
    TokenWantedError: 401,
    ForeignRequestError: 403,
    CannotLookError: 403,
    NothingRecordedError: 404,
    NoSamplesError: 404,
    StoreError: 404,
    NotInstalledError: 501,
    PlaceError: 502,
    BusyError: 503,
}
RETRY_SECONDS = 3
SAME_PLACE_SECONDS = 60.0
MOST_PLACES = 100
LONGEST_VALUE = 40


def refusal(status: int, error: NecroscopeError, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that says no, and why."""
    content = failed_json(error.slug, visible_text(error.what, LINES), visible_text(error.hint, LINES))
    return Response(content, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")


def our_fault() -> Response:
    """An answer without any detail: those are on the server's stderr."""
    error = NecroscopeError("the server failed to answer", hint="its log says why; please report it")
    return refusal(500, error)


def answer_to(error: NecroscopeError, roots: Sequence[Path] = ()) -> Response:
    """The answer to an error that was raised on purpose, without the paths of this machine.

    What lies below one of the roots is named as from there.
    """
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)
    if status == 500:
        return our_fault()
    headers = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}
    return refusal(status, _without_paths(error, roots), headers)


def _without_paths(error: NecroscopeError, roots: Sequence[Path]) -> NecroscopeError:
    shown = NecroscopeError(without_paths(error.what, roots), hint=without_paths(error.hint, roots))
    shown.slug = error.slug
    return shown


def add_failures(app: FastAPI, roots: Sequence[Path]) -> None:
    """Have the app answer errors as we do."""

    @app.exception_handler(NecroscopeError)
    async def ours(_: Request, error: NecroscopeError) -> Response:
        answer = answer_to(error, roots)
        if answer.status_code == 500:
            raise error  # an error that no question should raise: for the log
        return answer

    @app.exception_handler(RequestValidationError)
    async def not_understood(_: Request, error: RequestValidationError) -> Response:
        return refusal(400, _what_is_wrong(error))

    @app.exception_handler(HTTPException)
    async def of_the_framework(_: Request, error: HTTPException) -> Response:
        what = UsageError(str(error.detail), hint="the page is at /, its questions are in /api/openapi.json")
        return refusal(error.status_code, what, error.headers)

    @app.exception_handler(Exception)
    async def anything_else(_: Request, __: Exception) -> Response:
        return our_fault()


def _what_is_wrong(error: RequestValidationError) -> UsageError:
    """The first parameter that is wrong, and how."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:]) or "the question"
    value = first.get("input")
    given = f" ({value[:LONGEST_VALUE]!r})" if isinstance(value, str) else ""
    return UsageError(f"{name}{given}: {first['msg']}", hint="/api/openapi.json says what is accepted")


class Failures:
    """The last resort: an error that nobody expected is answered, and told on stderr, now and then."""

    def __init__(self, app: ASGIApp, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._told: dict[str, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in any case."""
        has_begun = False

        async def watch(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except asyncio.CancelledError:  # the server ends
            if not has_begun:
                await answer_to(BusyError("the server ends"))(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - one broken question must not end the server
            self._tell(error)
            if not has_begun:
                await our_fault()(scope, receive, send)

    def _tell(self, error: Exception) -> None:
        """The traceback, at most once a minute for each place."""
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = f"{type(error).__name__} {last[0].filename}:{last[0].lineno}" if last else repr(type(error))
        now = self._clock()
        if now - self._told.get(place, -SAME_PLACE_SECONDS) < SAME_PLACE_SECONDS or sys.stderr is None:
            return
        if len(self._told) >= MOST_PLACES:
            self._told.clear()
        self._told[place] = now
        trace = visible_text("".join(traceback.format_exception(error)), LINES)
        sys.stderr.write(f"necroscope: a question failed\n{trace}")
        sys.stderr.flush()
