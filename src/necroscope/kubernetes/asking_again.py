"""When the API server says no: what is asked again at once, what later, and what somebody has to mend."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from necroscope.errors import NotReportedError, ReportRefusedError
from necroscope.kubernetes.api_server import Reply

TRIES = 4
FIRST_PAUSE_SECONDS = 0.2  # after a conflict; doubled with each
RIGHTS = "its account needs: nodes get; nodes/status patch; events create and patch (docs/conditions.md)"


class TooBusyError(NotReportedError):
    """The API server asks to be left alone for some seconds: longer than we may wait."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(what, hint="it is tried again when that is over")
        self.seconds = seconds


class ServerFailsError(NotReportedError):
    """The API server is there, and fails with what it is asked for: a webhook of the cluster, say."""


class Patience:
    """How long one run may wait for answers all in all."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """How much of it is left."""
        return self._end - time.monotonic()

    def ask(self, ask: Callable[[], Reply]) -> Reply:
        """An answer that is neither a conflict nor `too many requests` nor a failure of the server's.

        Conflicts are asked again at once, the others after as long as the server wants. NotReportedError:
        there is none such in the time; TooBusyError says when to come again.
        """
        reply = ask()
        for attempt in range(1, TRIES):
            if reply.status == 409 and not _exists(reply):
                pause = FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.5)
            elif reply.retry_after_seconds is not None and reply.status in (429, 500, 502, 503, 504):
                # Not all that were sent away at once come back at once.
                pause = reply.retry_after_seconds * random.uniform(1.0, 1.5)
            else:
                break
            if pause > self.left:
                raise TooBusyError(f"the API server answers with {reply.status}: {reply.said}", pause)
            time.sleep(pause)
            reply = ask()
        if reply.status == 429:
            raise TooBusyError(f"the API server is too busy: {reply.said}", reply.retry_after_seconds or 1.0)
        if reply.status >= 500 or (reply.status == 409 and not _exists(reply)):
            hint = "it is tried again; the API server's own log says more"
            raise ServerFailsError(f"the API server answers with {reply.status}: {reply.said}", hint=hint)
        return reply


def _exists(reply: Reply) -> bool:
    """Whether a conflict is that an object is there already, which asking again does not change."""
    return isinstance(reply.document, dict) and reply.document.get("reason") == "AlreadyExists"


def is_by_policy(reply: Reply) -> bool:
    """Whether a policy of the cluster refused it, and not the API server itself."""
    return "ValidatingAdmissionPolicy" in reply.said


def refusal(reply: Reply, what: str, token_file: object, node: str) -> ReportRefusedError:
    """What somebody has to mend, and where."""
    said = f"{what}: {reply.said}"
    if is_by_policy(reply):
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
    return ReportRefusedError(f"{said} ({reply.status})", hint=hint)
