"""One client for all servers that are asked over HTTP: Kubernetes, Ray's dashboard, the metadata of a cloud.

No redirect is followed and no proxy is used, because either would take a token elsewhere. A token is read
before each request, stands in one header and never in a message. An answer has a limit of size, and one of
time for all of it, because the time-out of a socket starts again with every byte.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import SplitResult, urlsplit

from necroscope import __version__
from necroscope.errors import ClusterError, UsageError
from necroscope.model.retry import Deadline

if TYPE_CHECKING:
    from http.client import HTTPConnection

TIMEOUT_SECONDS = 10.0  # without a byte
ANSWER_TIMEOUTS = 4  # so many of them for a whole answer
MAX_BYTES = 8 << 20  # a Kubernetes node with all images that it has pulled is 100 kB
BRIEF_SECONDS = 0.5
MAX_BRIEF_BYTES = 1 << 20
MAX_TOKEN_BYTES = 64 << 10
Request = tuple[str, str, bytes | None, dict[str, str]]  # method, path, body and headers
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
ACCEPT_JSON: Mapping[str, str] = MappingProxyType({"Accept": "application/json"})
ONE_WORD = "a token is one word, as Ray or Kubernetes has written it"


class UnansweredError(ClusterError):
    """There is no answer, or none that helps."""


class TooLateError(UnansweredError):
    """The server took the question, and its answer did not come in time."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server answers, whatever the status is."""

    where: str  # what was asked, without its query
    status: int
    reason: str
    headers: Mapping[str, str]  # names in small letters
    content: bytes

    def require_ok(self) -> Self:
        """Return the reply itself. UnansweredError if its status is not 200."""
        if self.status != 200:
            raise UnansweredError(f"{self.where} answers with {self.status} {self.reason}")
        return self

    def text(self) -> str:
        """Return the content without spaces around it. UnansweredError if it is not text."""
        try:
            return self.content.decode().strip()
        except UnicodeDecodeError as error:
            raise UnansweredError(f"{self.where} does not answer with text") from error

    def json(self) -> Any:
        """Return the content, parsed. UnansweredError if it is not JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError) as error:
            hint = "a proxy between may have cut the answer; ask again"
            what = f"{self.where} does not answer with JSON, or it is cut or damaged"
            raise UnansweredError(what, hint=hint) from error


class HttpClient:
    """One connection to a server, made when it is needed and again when it was closed."""

    def __init__(  # noqa: PLR0913, PLR0917 - a server, who we are, and three bounds
        self,
        address: str,
        token: Callable[[], str] = str,
        ca_file: Path | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        max_bytes: int = MAX_BYTES,
        deadline: Deadline | None = None,
    ) -> None:
        """`token` is called before each request; `deadline` is for all requests together."""
        self._address = address
        self._parts = parse_server(address)
        self._token = token
        self._ca_file = ca_file
        self._timeout_seconds = timeout_seconds
        self._max_bytes = max_bytes
        self._deadline = deadline
        self._connection: HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes | None = None
    ) -> HttpReply:
        """Return the answer. UnansweredError: there is none; ClusterError: there is no token."""
        # Imported here: with mail and TLS it takes 30 ms and 4 MB, and most who import this ask nobody.
        import http.client

        sent = {"User-Agent": f"necroscope/{__version__}", **headers}
        if token := self._token():
            sent["Authorization"] = f"Bearer {token}"
        seconds = self._timeout_seconds * ANSWER_TIMEOUTS
        limit = Deadline(min(seconds, self._deadline.left) if self._deadline else seconds)
        request = (method, f"{self._parts.path.rstrip('/')}{path}", body, sent)
        try:
            connection = self._connection = self._connection or self._new_connection()
            is_kept = connection.sock is not None
            try:
                return self._exchange(connection, limit, request)
            except ConnectionError:
                # A kept connection may be closed while nobody speaks. All that we ask may be asked twice.
                if not is_kept:
                    raise
                return self._exchange(connection, limit, request)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failure(error, is_late=limit.left <= 0) from error

    def _exchange(self, connection: HTTPConnection, limit: Deadline, request: Request) -> HttpReply:
        import http.client

        try:
            if limit.left <= 0:
                raise TimeoutError
            if connection.sock is None:
                self._connect(connection, limit)
            with _hang_up_after(connection.sock, limit.left):
                connection.request(*request)
                answer = connection.getresponse()
                content = answer.read(self._max_bytes + 1)
            if limit.left <= 0:
                raise TimeoutError
            if len(content) > self._max_bytes:
                what = f"{self._address} answers with more than {self._max_bytes / 2**20:.2g} MiB"
                raise UnansweredError(what, hint="is this the right server?")
            if answer.length:  # more was announced
                raise http.client.IncompleteRead(content, answer.length)
        except BaseException:
            connection.close()  # what is left of an answer must not be taken for the next
            raise
        named = {name.lower(): value for name, value in answer.getheaders()}
        where = f"{self._parts.scheme}://{self._parts.netloc}{request[1].partition('?')[0]}"
        return HttpReply(where, answer.status, answer.reason, named, content)

    def _connect(self, connection: HTTPConnection, limit: Deadline) -> None:
        # To connect and to shake hands for TLS may take a time-out each.
        stages = 2 if self._parts.scheme == "https" else 1
        connection.timeout = min(self._timeout_seconds, limit.left / stages)
        connection.connect()
        connection.sock.settimeout(self._timeout_seconds)

    def _new_connection(self) -> HTTPConnection:
        import http.client
        import ssl

        host, port = str(self._parts.hostname), self._parts.port  # without a port, http.client cuts up IPv6
        if self._parts.scheme == "http":
            connection = http.client.HTTPConnection(host, port or http.client.HTTP_PORT)
        else:
            try:
                context = ssl.create_default_context(cafile=self._ca_file)
            except OSError as error:
                what = f"{self._ca_file}: {error.strerror or error}"
                raise UnansweredError(what, hint="--ca-file FILE") from error
            connection = http.client.HTTPSConnection(host, port or http.client.HTTPS_PORT, context=context)
        connection.auto_open = 0  # or it would connect again by itself, without a limit
        return connection

    def _failure(self, error: Exception, *, is_late: bool) -> UnansweredError:
        import http.client
        import ssl

        address = self._address
        if is_late or isinstance(error, TimeoutError):
            limit = f"within {self._timeout_seconds:g} s"
            if self._deadline and self._deadline.left <= 0:
                limit = f"within {self._deadline.seconds:g} s, the limit of all requests together"
            elif is_late:
                limit = f"in full within {self._timeout_seconds * ANSWER_TIMEOUTS:g} s"
            what = f"{address} did not answer {limit}"
            return TooLateError(what, hint="is a network policy or a firewall between?")
        if isinstance(error, ssl.SSLError):
            hint = "--ca-file FILE names the authority of its certificate; or it speaks http:// only"
            return UnansweredError(f"{address}: {error.reason or error}", hint=hint)
        if isinstance(error, http.client.IncompleteRead):
            what = f"{address} has closed the connection in the middle of an answer"
            return UnansweredError(what, hint="ask again")
        if isinstance(error, socket.gaierror | UnicodeError):  # the latter for what cannot be a name at all
            return UnansweredError(f"{address}: there is no such host", hint="is the name right?")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return UnansweredError(f"{address}: {reason}", hint="is the server up, and is this its address?")


def brief_client(address: str, token: Callable[[], str] = str, ca_file: Path | None = None) -> HttpClient:
    """Return a client that must not hold anybody up: all that it is asked takes half a second at most.

    UnansweredError if the address is not one.
    """
    try:
        return HttpClient(address, token, ca_file, BRIEF_SECONDS, MAX_BRIEF_BYTES, Deadline(BRIEF_SECONDS))
    except UsageError as error:
        raise UnansweredError(error.what, hint=error.hint) from error


def parse_server(address: str) -> SplitResult:
    """Return the parts of the address of a server. UsageError if it is not one, or has a secret in it."""
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


def read_token(path: Path) -> str:
    """Return the token in a file. ClusterError if there is none."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_TOKEN_BYTES)
    except OSError as error:
        what = f"{path}: {error.strerror or error}"
        raise ClusterError(what, hint="the file of the token must be ours to read") from error
    return check_token(content.decode(errors="replace").strip(), str(path))


def check_token(token: str, source: str) -> str:
    """Return a token that can stand in a header. ClusterError, which does not show it, if it cannot."""
    if not token:
        raise ClusterError(f"{source} has no token in it", hint=ONE_WORD)
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise ClusterError(f"what {source} holds is not a token", hint=ONE_WORD)
    return token


@contextmanager
def _hang_up_after(connection: socket.socket, seconds: float) -> Iterator[None]:
    """End a connection when the time for all of an answer is over."""

    def hang_up() -> None:
        with suppress(OSError):  # closed meanwhile
            # Not its own shutdown: of an encrypted one, that would change what the reader works with.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
