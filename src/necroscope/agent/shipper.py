"""Starts shipping children from the recorder: now and then, later after a failure, and never two at once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from necroscope.agent.child_job import ChildJob
from necroscope.model.recorder_status import ShipStatus
from necroscope.model.retry import Retry, add_jitter
from necroscope.sources.host import Host
from necroscope.store.child import OURSELVES, Ended
from necroscope.store.config import FleetSettings

FIRST_SECONDS = 60.0  # within which the first is started, so that a new host is soon seen
RETRY = Retry(first_seconds=60.0, max_seconds=600.0)
PAUSE_FOR_MORE = 10.0  # when there was no time for all
STUCK_SECONDS = 900.0
RUN_SECONDS = 240.0  # after which a child begins nothing anew
LAST_SECONDS = 10.0  # for the last attempt, when the recorder ends; a service is given 90 s in all


def ship_command(host: Host, store: Path, config: Path | None) -> list[str]:
    """Return the command, to which a shipper adds where to ship."""
    command = [*OURSELVES, "fleet", "ship", "--json", "--store", str(store), "--root", str(host.root)]
    return [*command, "--config", str(config)] if config else command


class Shipper:
    """Ships if the settings name a place. `command` ships once and prints JSON."""

    def __init__(self, command: Sequence[str], settings: Callable[[], FleetSettings]) -> None:
        self.status = ShipStatus()
        self.job = ChildJob("shipping", STUCK_SECONDS, self._finish)
        self._command = list(command)
        self._settings = settings
        self._failures = 0  # in a row
        self._place = ""
        self._not_before = 0.0
        self.load()

    @property
    def is_on(self) -> bool:
        """Whether there is a place to ship to."""
        return bool(self._place)

    def load(self) -> None:
        """Read the settings, again at every SIGHUP."""
        settings, was_on = self._settings(), self.is_on
        self._place = settings.place
        self.status = replace(self.status, every_seconds=settings.every_seconds)
        if not was_on:  # a fleet that is told at once does not ship at once
            first_seconds = min(settings.every_seconds, FIRST_SECONDS)
            self._not_before = time.monotonic() + random.uniform(0, first_seconds)

    def tick(self) -> None:
        """See to the child at work, and start one when it is time. It never waits."""
        if not self.job.is_working() and self.is_on and time.monotonic() >= self._not_before:
            self._start(RUN_SECONDS)

    def finish(self) -> None:
        """One last quick attempt, unless the last one failed; a child that takes longer is ended."""
        self.job.finish(LAST_SECONDS, self._start_last)  # the spool keeps what has not arrived

    def _start_last(self, seconds: float) -> None:
        if self.is_on and not self.status.error:
            self._start(seconds)

    def _start(self, seconds: float) -> None:
        self.job.start([*self._command, "--fleet", self._place, "--seconds", f"{seconds:g}s"])

    def _finish(self, ended: Ended) -> None:
        document, before = ended.document, self.status
        status = replace(
            before,
            sent=before.sent + document.get("sent", 0),
            given_up=before.given_up + len(document.get("given_up", ())),
            waiting=document.get("waiting", before.waiting),
            last_success_us=document.get("last_success_us") or before.last_success_us,
            error="",
            problems=_problems(document),
        )
        if ended.code:
            self._failures += 1
            self.status = replace(status, failures=status.failures + 1, error=ended.why("shipping"))
            self._not_before = time.monotonic() + RETRY.pause_seconds(self._failures)
            return
        self.status, self._failures = status, 0
        pause_seconds = PAUSE_FOR_MORE if document.get("is_more") else status.every_seconds
        self._not_before = time.monotonic() + add_jitter(pause_seconds)


def _problems(document: Mapping[str, Any]) -> str:
    """What a run had to give up or to leave out."""
    found = [str(one.get("what")) for one in document.get("problems", ())]
    told = (
        [f"the spool was full: {len(document['given_up'])} parts given up"]
        if document.get("given_up")
        else []
    )
    return "; ".join([*told, *([f"{len(found)} cannot be sent: {found[0]}"] if found else [])])
