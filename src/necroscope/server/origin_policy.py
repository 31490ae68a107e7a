"""Who may ask: only pages of our own origin, under a name of ours.

A foreign page can make a browser send requests here, also by a name of its own that it points to this
address (DNS rebinding). Host, Origin and Sec-Fetch-Site tell; the headers of every answer do the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from necroscope.errors import ForeignRequestError, UsageError
from necroscope.server.failures import refusal

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), "
    "magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=(), clipboard-write=(self)",
}
CLOSE = {"Connection": "close"}  # its body has not been read
PROXY_HEADERS = {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}


@dataclass(frozen=True, slots=True)
class Names:
    """Under which names, as in a Host header, the server may be addressed."""

    hosts: frozenset[str]
    port: int
    is_behind_proxy: bool = False

    def fits(self, host: str, own_address: str) -> bool:
        """Whether a Host header names us, or the address at which this very connection arrived."""
        return host in self.hosts or (bool(own_address) and host in with_port(own_address, self.port))


def names_of(port: int, allowed: Iterable[str], *, loopback: bool, is_behind_proxy: bool) -> Names:
    """The names of a server that listens on a port; a name with a port of its own stands for that alone."""
    hosts: set[str] = set()
    for name in (*(LOOPBACK_NAMES if loopback else ()), *(name.lower() for name in allowed)):
        has_port = ":" in name.rpartition("]")[2]
        hosts |= {name} if has_port else with_port(name, port)
        if is_behind_proxy and not has_port:
            hosts |= {name, f"{name}:443"}
    return Names(frozenset(hosts), port, is_behind_proxy)


def with_port(name: str, port: int) -> set[str]:
    """A name as browsers write it: without the port where that is the usual one."""
    return {f"{name}:{port}"} | ({name} if port in (80, 443) else set())


class OriginPolicy:
    """Refuses requests of foreign origin, and puts the headers of security on every answer."""

    def __init__(self, app: ASGIApp, names: Names) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request of our own page through."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if scope["path"].startswith("/api"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        if scope["type"] != "http":
            return
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or len(_values(scope, b"origin")) > 1:
            error = UsageError("a request needs one Host and at most one Origin")
            await refusal(400, error, CLOSE)(scope, receive, with_headers)
        elif why := self._what_is_foreign(scope, hosts[0].lower()):
            hint = f"open the page as {self._best_name()}; serve --allow-host NAME adds a name"
            await refusal(403, ForeignRequestError(why, hint=hint), CLOSE)(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _best_name(self) -> str:
        return next(
            iter(sorted(self._names.hosts, key=len, reverse=True)), f"its address and port {self._names.port}"
        )

    def _what_is_foreign(self, scope: Scope, host: str) -> str:
        """Why a request is refused; empty where it is not."""
        if not self._names.fits(host, _own_address(scope)):
            return f"'{host[:100]}' is no name of this server, which listens on port {self._names.port}"
        if any(not self._is_own(origin, host, scope["scheme"]) for origin in _values(scope, b"origin")):
            return "the request comes from a page of another origin"
        if scope["path"].startswith("/api") and _values(scope, b"sec-fetch-site") not in (
            [],
            ["same-origin"],
            ["none"],
        ):
            return "the request comes from a page of another site"
        if not self._names.is_behind_proxy and any(name in PROXY_HEADERS for name, _ in scope["headers"]):
            return "the request came through a proxy that serve was not told of (--behind-proxy)"
        return ""

    def _is_own(self, origin: str, host: str, scheme: str) -> bool:
        try:
            parts = urlsplit(origin.lower())
        except ValueError:
            return False
        schemes = ("http", "https") if self._names.is_behind_proxy else (scheme,)
        return parts.scheme in schemes and f"{parts.scheme}://{host}" == origin.lower()


def _own_address(scope: Scope) -> str:
    """The address at which a connection arrived: it is no name that anybody could point elsewhere."""
    server = scope.get("server")
    if not server:
        return ""
    return f"[{server[0]}]" if ":" in server[0] else str(server[0])


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key == name]
