"""Starts shipping children from the recorder: now and then, later after a failure, and never two at once."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from necroscope.model.recorder_status import ShipStatus
from necroscope.store.child import Child, Ended

FIRST_PAUSE, LONGEST_PAUSE = 60.0, 600.0  # seconds after a failure; doubled with each
PAUSE_FOR_MORE = 10.0  # when there was no time for all
JITTER = 0.2  # of a pause: a thousand hosts that were started together do not come together
STUCK_SECONDS = 900.0
RUN_SECONDS = 240.0  # after which a child begins nothing anew
LAST_SECONDS = 10.0  # for the last attempt, when the recorder ends; a service is given 90 s in all


class Shipper:
    """`command` ships once and prints JSON."""

    def __init__(self, command: Sequence[str], every_seconds: float) -> None:
        self.command = list(command)
        self.every_seconds = every_seconds
        self.is_on = True
        self.cpu_seconds = 0.0
        self.status = ShipStatus()
        self._child = Child()
        self._pause = 0.0
        # The first comes sooner, so that a new host is soon seen.
        self._not_before = time.monotonic() + random.uniform(0, min(every_seconds, FIRST_PAUSE))

    @property
    def child_pid(self) -> int | None:
        """The child at work."""
        return self._child.pid

    def tick(self) -> None:
        """See to the child at work, and start one when it is time. It never waits."""
        if self._is_working():
            if self._child.age_seconds > STUCK_SECONDS:
                self._child.kill()
        elif self.is_on and time.monotonic() >= self._not_before:
            self._start(RUN_SECONDS)

    def finish(self) -> None:
        """One last quick attempt, unless the last one failed; a child that takes longer is ended."""
        end = time.monotonic() + LAST_SECONDS
        self._child.wait(LAST_SECONDS)
        if not self._is_working() and self.is_on and not self.status.error:
            self._start(LAST_SECONDS / 2)
        self._child.wait(end - time.monotonic())
        self._child.kill()  # nothing is lost by it: the spool keeps what has not arrived
        self._child.wait(LAST_SECONDS)
        self._is_working()

    def _is_working(self) -> bool:
        if ended := self._child.ended():
            self._finish(ended)
        return self._child.pid is not None

    def _start(self, seconds: float) -> None:
        try:
            self._child.start([*self.command, "--seconds", f"{seconds:g}s"])
        except OSError as error:
            self._put_off(self.status, f"cannot start the shipping child: {error.strerror}")

    def _finish(self, ended: Ended) -> None:
        document, before = ended.document, self.status
        self.cpu_seconds += document.get("cpu_seconds", 0.0)
        status = ShipStatus(
            sent=before.sent + document.get("sent", 0),
            given_up=before.given_up + len(document.get("given_up", ())),
            failures=before.failures,
            waiting=document.get("waiting", before.waiting),
            last_success_us=document.get("last_success_us") or before.last_success_us,
            error="",
            problems=_problems(document),
        )
        if ended.code:
            self._put_off(status, ended.why("shipping"))
            return
        self.status, self._pause = status, 0.0
        self._wait(PAUSE_FOR_MORE if document.get("is_more") else self.every_seconds)

    def _put_off(self, status: ShipStatus, why: str) -> None:
        self.status = replace(status, failures=status.failures + 1, error=why)
        self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
        self._wait(self._pause)

    def _wait(self, seconds: float) -> None:
        self._not_before = time.monotonic() + seconds * random.uniform(1 - JITTER, 1 + JITTER)


def _problems(document: Mapping[str, Any]) -> str:
    """What a run had to give up or to leave out."""
    found = [str(one.get("what")) for one in document.get("problems", ())]
    told = (
        [f"the spool was full: {len(document['given_up'])} parts given up"]
        if document.get("given_up")
        else []
    )
    return "; ".join([*told, *([f"{len(found)} cannot be sent: {found[0]}"] if found else [])])
