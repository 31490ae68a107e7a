"""One GET after another of a server that answers in JSON, with a token: Ray's dashboard, Kubernetes' API.

The standard library is enough for it. A token goes into one header and never into a message. Answers are
read up to a limit, redirects are not followed (they would take the token elsewhere), and every failure is a
ClusterError that says what to do.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from necroscope.errors import ClusterError, UsageError

TIMEOUT_SECONDS = 30.0
PATIENCE = 4  # times that long for all of an answer
LARGEST_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
LONGEST_REASON = 200  # of what a server says about a failure


class NotThereError(ClusterError):
    """The server has no such thing: an older or a newer one may."""


class TooLargeError(ClusterError):
    """The answer is larger than what is read."""


@dataclass(frozen=True, slots=True)
class WebApi:
    """A server, and how to speak to it. `token` is asked before each request: tokens are renewed."""

    address: str
    token: Callable[[], str]
    token_hint: str
    ca_file: Path | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    largest_bytes: int = LARGEST_BYTES

    def get(self, path: str) -> Any:
        """What the server answers, parsed. NotThereError: 404; other failures are ClusterError."""
        status, kind, content = self._ask(path)
        where = f"{self.address}{path.partition('?')[0]}"
        if status != 200:
            raise self._refused(where, status, content)
        if "json" not in kind:
            hint = "is this the address of the dashboard? a login page or a proxy may answer in its place"
            raise ClusterError(f"{where} answers with {kind or 'no type'}, not JSON", hint=hint)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            hint = "a proxy between may have cut the answer; ask again"
            raise ClusterError(f"{where} answers with JSON that is cut or damaged", hint=hint) from error

    def _ask(self, path: str) -> tuple[int, str, bytes]:
        connection = self._connection()
        headers = {"Accept": "application/json"}
        if token := self.token():
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request("GET", urlsplit(self.address).path.rstrip("/") + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type", ""), self._content(answer)
        except ssl.SSLError as error:
            hint = "--ca-file FILE names the authority of its certificate; or it speaks http:// only"
            raise ClusterError(f"{self.address}: {error.reason or error}", hint=hint) from error
        except http.client.IncompleteRead as error:
            what = f"{self.address} has closed the connection in the middle of an answer"
            raise ClusterError(what, hint="ask again") from error
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from error
        finally:
            connection.close()

    def _content(self, answer: http.client.HTTPResponse) -> bytes:
        """All of an answer; not for ever, where a server says one byte after the other."""
        content, deadline = bytearray(), time.monotonic() + self.timeout_seconds * PATIENCE
        while block := answer.read1(BLOCK_BYTES):
            content += block
            if len(content) > self.largest_bytes:
                what = f"{self.address} answers with more than {self.largest_bytes / 2**20:g} MiB"
                raise TooLargeError(what, hint="this is not how Ray or Kubernetes answer")
            if time.monotonic() > deadline:
                raise TimeoutError
        if answer.length:  # it has announced more
            raise http.client.IncompleteRead(bytes(content), answer.length)
        return bytes(content)

    def _connection(self) -> http.client.HTTPConnection:
        parts = parse_server(self.address)
        assert parts.hostname is not None
        if parts.scheme == "http":
            return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout_seconds)
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            raise ClusterError(f"{self.ca_file}: {error.strerror or error}", hint="--ca-file FILE") from error
        return http.client.HTTPSConnection(
            parts.hostname, parts.port, timeout=self.timeout_seconds, context=context
        )

    def _away(self, error: OSError | http.client.HTTPException) -> ClusterError:
        if isinstance(error, socket.gaierror):
            return ClusterError(f"{self.address}: there is no such host", hint="is the name right?")
        if isinstance(error, TimeoutError):
            what = f"{self.address} did not answer within {self.timeout_seconds:g} s"
            return ClusterError(what, hint="is a firewall between?")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return ClusterError(f"{self.address}: {reason}", hint="is the cluster up, and is this its address?")

    def _refused(self, where: str, status: int, content: bytes) -> ClusterError:
        said = " ".join(content[:LONGEST_REASON].decode(errors="replace").split())
        if status == 401:
            return ClusterError(f"{self.address} wants a token", hint=self.token_hint)
        if status == 403:
            return ClusterError(f"{self.address} does not accept our token: {said}", hint=self.token_hint)
        if status == 404:
            return NotThereError(f"{where} is not there", hint="is this the right server?")
        if 300 <= status < 400:
            hint = "give the address that it leads to: tokens are not sent elsewhere"
            return ClusterError(f"{where} leads elsewhere ({status})", hint=hint)
        return ClusterError(f"{where} answers with {status}: {said}", hint="its own log says more")


def parse_server(address: str) -> SplitResult:
    """The parts of the address of a server. UsageError: it is none, or has a secret in it."""
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise UsageError(f"'{address}' is not the address of a server", hint="http://127.0.0.1:8265")
    if parts.username or parts.password or parts.query:
        raise UsageError("an address must not have a user, a password or a query", hint="--token-file FILE")
    return parts
