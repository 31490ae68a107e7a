"""Ask Ray's dashboard or Kubernetes' API server for JSON; every failure says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.errors import ClusterError
from necroscope.sources.http_client import ACCEPT_JSON, HttpClient, HttpReply

TIMEOUT_SECONDS = 30.0
MAX_BYTES = 64 << 20
MAX_REASON = 200  # of what a server says about a failure


@dataclass(frozen=True, slots=True)
class WebApi:
    """A server, and how to speak to it. `token` is asked before each request: tokens are renewed."""

    address: str
    token: Callable[[], str]
    token_hint: str
    ca_file: Path | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    max_bytes: int = MAX_BYTES

    def get(self, path: str) -> Any:
        """Return what the server answers, parsed. ClusterError if it does not."""
        bounds = self.timeout_seconds, self.max_bytes
        with HttpClient(self.address, self.token, self.ca_file, *bounds) as client:
            reply = client.ask("GET", path, ACCEPT_JSON)
        if reply.status != 200:
            raise self._refused(reply)
        kind = reply.headers.get("content-type", "")
        if "json" not in kind:
            hint = "is this the address of the dashboard? a login page or a proxy may answer in its place"
            raise ClusterError(f"{reply.where} answers with {kind or 'no type'}, not JSON", hint=hint)
        return reply.json()

    def _refused(self, reply: HttpReply) -> ClusterError:
        status, where = reply.status, reply.where
        said = " ".join(reply.content[:MAX_REASON].decode(errors="replace").split())
        if status == 401:
            return ClusterError(f"{self.address} wants a token", hint=self.token_hint)
        if status == 403:
            return ClusterError(f"{self.address} does not accept our token: {said}", hint=self.token_hint)
        if status == 404:
            return ClusterError(f"{where} is not there", hint="is this the right server?")
        if 300 <= status < 400:
            hint = "give the address that it leads to: tokens are not sent elsewhere"
            return ClusterError(f"{where} leads elsewhere ({status})", hint=hint)
        return ClusterError(f"{where} answers with {status}: {said}", hint="its own log says more")
