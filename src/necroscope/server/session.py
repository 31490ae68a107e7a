"""Who has the token: a program sends it with every request, the page once, and gets a cookie for 12 hours.

The cookie is an expiry, signed with a key that is made at the start and never leaves the process. Only /api
is behind the token: the page itself holds nothing, and has to ask for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from necroscope.errors import BusyError, TokenWantedError, UsageError
from necroscope.server.failures import refusal
from necroscope.server.request_limits import SESSION_PATH

SESSION_SECONDS = 12 * 3600
NO_TOKEN = "this server wants a token"
WRONG_TOKEN = "this is not the token of this server"
ASK_FOR_IT = "whoever started it has it in the file of --token-file"
FIRST_SECONDS = 0.25
LONGEST_SECONDS = 8.0
FORGOTTEN_SECONDS = 900.0
MOST_ADDRESSES = 1000
MOST_DELAYED = 40  # of all connections; the rest stays free for those who know the token


class Sessions:
    """Makes cookies and knows its own again."""

    def __init__(self, port: int, *, is_secure: bool, clock: Callable[[], float] = time.time) -> None:
        # Cookies are not kept apart by port: another server of this host has another name for its own.
        self.cookie = f"__Host-necroscope-{port}" if is_secure else f"necroscope-{port}"
        self._is_secure = is_secure
        self._key = secrets.token_bytes(32)
        self._clock = clock

    def new_cookie(self) -> str:
        """The value of a Set-Cookie header."""
        expiry = str(int(self._clock()) + SESSION_SECONDS)
        secure = "; Secure" if self._is_secure else ""
        value = f"{expiry}.{self._signature(expiry)}"
        return f"{self.cookie}={value}; Path=/; Max-Age={SESSION_SECONDS}; HttpOnly; SameSite=Strict{secure}"

    def is_open(self, cookie_headers: Iterable[str]) -> bool:
        """Whether one of the cookies is ours and still good."""
        return any(
            self._is_good(value.strip())
            for header in cookie_headers
            for name, _, value in (pair.partition("=") for pair in header.split(";"))
            if name.strip() == self.cookie
        )

    def _is_good(self, value: str) -> bool:
        expiry, _, signature = value.partition(".")
        is_signed = hmac.compare_digest(signature.encode(), self._signature(expiry).encode())
        return is_signed and int(expiry) > self._clock()

    def _signature(self, expiry: str) -> str:
        return hmac.new(self._key, expiry.encode(), hashlib.sha256).hexdigest()


class TokenWanted:
    """Lets those with the token, or with a session, through to /api."""

    def __init__(
        self, app: ASGIApp, token: str, sessions: Sessions, *, is_behind_proxy: bool = False
    ) -> None:
        self._app = app
        self._token = token
        self._sessions = sessions
        self._is_behind_proxy = is_behind_proxy
        self._delay = WrongTokenDelay()
        self._delayed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pages for all, questions for those with the token."""
        if scope["path"] == SESSION_PATH:
            answer = await self._begin_session(scope, (await receive()).get("body", b""))
        elif not _is_question(scope["path"]):
            answer = None
        else:
            answer = await self._what_is_missing(scope)
        await (answer or self._app)(scope, receive, send)

    async def _begin_session(self, scope: Scope, body: bytes) -> Response:
        try:
            token = json.loads(body)["token"]
        except (ValueError, TypeError, KeyError, RecursionError):
            token = None
        if not isinstance(token, str):
            return refusal(400, UsageError('the body must be {"token": "..."}'))
        if not self._is_token(token):
            return await self._wrong(scope)
        self._delay.forget(self._client(scope))
        return Response(status_code=204, headers={"Set-Cookie": self._sessions.new_cookie()})

    async def _what_is_missing(self, scope: Scope) -> Response | None:
        given = [value for value in _values(scope, b"authorization") if value[:7].lower() == "bearer "]
        if given:
            return None if self._is_token(given[0][7:].strip()) else await self._wrong(scope)
        if self._sessions.is_open(_values(scope, b"cookie")):
            return None
        return _unauthorised(NO_TOKEN)

    async def _wrong(self, scope: Scope) -> Response:
        if self._delayed >= MOST_DELAYED:
            hint = "ask again in a few seconds"
            return refusal(429, BusyError("too many wrong tokens", hint=hint), {"Retry-After": "8"})
        with self._one_more_delayed():
            await asyncio.sleep(self._delay.seconds_for(self._client(scope)))
        return _unauthorised(WRONG_TOKEN)

    @contextmanager
    def _one_more_delayed(self) -> Iterator[None]:
        self._delayed += 1
        try:
            yield
        finally:
            self._delayed -= 1

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token.encode())

    def _client(self, scope: Scope) -> str:
        """Whose token it is; behind a proxy, the address that the proxy itself has added."""
        forwarded = _values(scope, b"x-forwarded-for") if self._is_behind_proxy else []
        if forwarded:
            return forwarded[-1].rpartition(",")[2].strip()
        return str(scope["client"][0]) if scope.get("client") else ""


def _is_question(path: str) -> bool:
    return path == "/api" or path.startswith("/api/")


def _unauthorised(what: str) -> Response:
    error = TokenWantedError(what, hint=ASK_FOR_IT)
    return refusal(401, error, {"WWW-Authenticate": 'Bearer realm="necroscope"'})


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


class WrongTokenDelay:
    """Counts the wrong tokens of each address; remembers few addresses, and each for a quarter of an hour."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def seconds_for(self, address: str) -> float:
        """Count a wrong token, and say how long its answer has to wait."""
        key, now = network_of(address), self._clock()
        count, last = self._wrong.pop(key, (0, now))
        count = count + 1 if now - last < FORGOTTEN_SECONDS else 1
        self._wrong[key] = (count, now)
        while len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        return float(min(FIRST_SECONDS * 2 ** min(count - 1, 10), LONGEST_SECONDS))

    def forget(self, address: str) -> None:
        """The right token came from there."""
        self._wrong.pop(network_of(address), None)

    def __len__(self) -> int:
        return len(self._wrong)


def network_of(address: str) -> str:
    """What one client can choose from: an IPv6 client has a whole /64."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.ipv4_mapped:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
