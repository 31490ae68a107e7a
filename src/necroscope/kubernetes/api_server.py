"""The API server, asked with the standard library: one connection, the token read anew for each request.

No redirect is followed (it would take the token elsewhere) and no proxy is used. Answers are read up to a
limit.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from necroscope import __version__
from necroscope.errors import NotReportedError
from necroscope.fleet.jobs.tokens import read_token
from necroscope.fleet.jobs.web_api import parse_server
from necroscope.kubernetes.access import Access

TIMEOUT_SECONDS = 10.0
LARGEST_BYTES = 8 << 20  # a node with all images that it has pulled is 100 kB
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json"


class NoAnswerError(NotReportedError):
    """The API server took the question, and nothing came back in time."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the API server says, whatever its status is."""

    status: int
    document: Any
    retry_after_seconds: float | None = None  # it asks to be left alone for so long

    @property
    def is_ok(self) -> bool:
        """Whether it did what it was asked for."""
        return 200 <= self.status < 300

    @property
    def said(self) -> str:
        """Its own words about a failure."""
        message = self.document.get("message") if isinstance(self.document, dict) else None
        return " ".join(str(message or "no reason given").split())[:500]


class ApiServer:
    """One connection, made when it is needed and again when it was closed."""

    def __init__(self, access: Access, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._access = access
        self._timeout_seconds = timeout_seconds
        self._base = urlsplit(access.address).path.rstrip("/")
        self._connection = self._connect()
        self._is_used = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> Reply:
        """Its answer. NotReportedError: there is none; ClusterError: there is no token."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": JSON, "User-Agent": f"necroscope/{__version__}"}
        if data is not None:
            headers["Content-Type"] = content_type
        if self._access.token_file:
            headers["Authorization"] = f"Bearer {read_token(self._access.token_file)}"
        try:
            return self._exchange(method, path, data, headers)
        except ssl.SSLError as error:
            hint = "--ca-file FILE names the authority of its certificate"
            raise NotReportedError(f"{self._access.address}: {error.reason or error}", hint=hint) from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise self._away(error) from error

    def _exchange(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Reply:
        try:
            return self._once(method, path, data, headers)
        except (http.client.RemoteDisconnected, ConnectionError):
            if not self._is_used:
                raise
        # Closed while nobody spoke. All that we ask for may be asked for twice.
        self._connection.close()
        self._is_used = False
        return self._once(method, path, data, headers)

    def _once(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> Reply:
        try:
            self._connection.request(method, f"{self._base}{path}", body=data, headers=headers)
            answer = self._connection.getresponse()
            content = answer.read(LARGEST_BYTES)
            if answer.read(1):
                raise http.client.HTTPException("the answer is too long")
        except BaseException:
            self._connection.close()  # what is left of an answer must not be taken for the next
            raise
        self._is_used = True
        return Reply(answer.status, _parsed(content), _seconds(answer.getheader("Retry-After")))

    def _connect(self) -> http.client.HTTPConnection:
        parts = parse_server(self._access.address)
        host, port, timeout = str(parts.hostname), parts.port, self._timeout_seconds
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        try:
            context = ssl.create_default_context(cafile=self._access.ca_file)
        except OSError as error:
            what = f"{self._access.ca_file}: {error.strerror or error}"
            raise NotReportedError(what, hint="--ca-file FILE") from error
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)

    def _away(self, error: OSError | http.client.HTTPException | UnicodeError) -> NotReportedError:
        address = self._access.address
        if isinstance(error, socket.gaierror | UnicodeError):  # the latter where it can be no name at all
            return NotReportedError(f"{address}: there is no such host", hint="is the name right?")
        if isinstance(error, TimeoutError):
            what = f"{address} did not answer within {self._timeout_seconds:g} s"
            return NoAnswerError(what, hint="is a network policy or a firewall between?")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NotReportedError(f"{address}: {reason}", hint="is the API server up, and is this its address?")


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return {"message": content[:200].decode(errors="replace")}


def _seconds(text: str | None) -> float | None:
    """Of Retry-After, which the API server gives in whole seconds; a date is not understood."""
    return float(text) if text and text.isdecimal() and len(text) < 7 else None
