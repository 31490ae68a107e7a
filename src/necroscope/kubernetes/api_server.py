"""The API server: what is asked at once again, what later, and what somebody has to repair."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from necroscope.errors import NotReportedError, ReportRefusedError
from necroscope.kubernetes.access import Access
from necroscope.model.retry import Deadline, Retry
from necroscope.sources.http_client import (
    ACCEPT_JSON,
    HttpClient,
    HttpReply,
    TooLateError,
    UnansweredError,
    read_token,
)

TRIES = 4
CONFLICT = Retry(first_seconds=0.4, max_seconds=2.0)
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json"
RIGHTS = "its account needs: nodes get; nodes/status patch; events create and patch (docs/conditions.md)"


class NoAnswerError(NotReportedError):
    """The API server took the question, and nothing came back in time."""


class TooBusyError(NotReportedError):
    """The API server asks to be left alone for some seconds: longer than we may wait."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what, hint="it is tried again when that is over")
        self.seconds = seconds


class ServerFailsError(NotReportedError):
    """The API server is there, and fails with what it is asked for: a webhook of the cluster, say."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the API server says, whatever its status is."""

    status: int
    document: Any
    retry_after_seconds: float | None = None  # it asks to be left alone for so long

    @property
    def is_ok(self) -> bool:
        """Return whether it did what it was asked for."""
        return 200 <= self.status < 300

    @property
    def is_conflict(self) -> bool:
        """Return whether something else changed the object; that it is there already would not change."""
        is_there = isinstance(self.document, dict) and self.document.get("reason") == "AlreadyExists"
        return self.status == 409 and not is_there

    @property
    def is_by_policy(self) -> bool:
        """Return whether a policy of the cluster refused it, and not the API server itself."""
        return "ValidatingAdmissionPolicy" in self.said

    @property
    def said(self) -> str:
        """Return its own words about a failure."""
        message = self.document.get("message") if isinstance(self.document, dict) else None
        return " ".join(str(message or "no reason given").split())[:500]


class ApiServer:
    """One connection to it."""

    def __init__(self, access: Access) -> None:
        token = partial(read_token, access.token_file) if access.token_file else str
        self._client = HttpClient(access.address, token, access.ca_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.__exit__()

    def ask(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> Reply:
        """Return its answer. NotReportedError: there is none; ClusterError: there is no token."""
        data, headers = None, dict(ACCEPT_JSON)
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), content_type
        try:
            reply = self._client.ask(method, path, headers, data)
        except UnansweredError as error:
            kind = NoAnswerError if isinstance(error, TooLateError) else NotReportedError
            raise kind(error.what, hint=error.hint) from error
        return Reply(reply.status, _parsed(reply), _seconds(reply.headers.get("retry-after")))


def _parsed(reply: HttpReply) -> Any:
    try:
        return reply.json()
    except UnansweredError:
        return {"message": reply.content[:200].decode(errors="replace")}


def _seconds(text: str | None) -> float | None:
    """Parse Retry-After, which the API server gives in whole seconds; a date is not understood."""
    return float(text) if text and text.isdecimal() and len(text) < 7 else None


def ask_again(ask: Callable[[], Reply], deadline: Deadline) -> Reply:
    """Return an answer that is neither a conflict nor `too many requests` nor a failure of the server.

    Conflicts are asked again at once, the others after as long as the server wants. NotReportedError:
    there was no such answer in time; TooBusyError says when to come again.
    """
    reply = ask()
    for attempt in range(1, TRIES):
        if reply.is_conflict:
            pause = CONFLICT.pause_seconds(attempt)
        elif reply.retry_after_seconds is not None and reply.status in (429, 500, 502, 503, 504):
            # Not all that were sent away at once come back at once.
            pause = reply.retry_after_seconds * random.uniform(1.0, 1.5)
        else:
            break
        if pause > deadline.left:
            raise TooBusyError(f"the API server answers with {reply.status}: {reply.said}", pause)
        time.sleep(pause)
        reply = ask()
    if reply.status == 429:
        raise TooBusyError(f"the API server is too busy: {reply.said}", reply.retry_after_seconds or 1.0)
    if reply.status >= 500 or reply.is_conflict:
        hint = "it is tried again; the API server's own log says more"
        raise ServerFailsError(f"the API server answers with {reply.status}: {reply.said}", hint=hint)
    return reply


def refusal(reply: Reply, what: str, token_file: object, node: str) -> ReportRefusedError:
    """Return what somebody has to repair, and where."""
    if reply.is_by_policy:
        hint = "the policy lets a pod report about its own node only: is NODE_NAME the pod's spec.nodeName?"
    elif reply.status == 401:
        hint = f"the token in {token_file} is not, or no longer, one of this cluster"
    elif reply.status == 403:
        hint = RIGHTS
    elif reply.status == 404:
        hint = f"is '{node}' the node's name in the cluster? NODE_NAME must be spec.nodeName, or --node NAME"
    elif 300 <= reply.status < 400:
        hint = "the address leads elsewhere: tokens are not sent there; give the API server's own"
    else:
        hint = "please report it: the API server does not understand what we say"
    return ReportRefusedError(f"{what}: {reply.said} ({reply.status})", hint=hint)
