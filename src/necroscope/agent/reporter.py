"""Starts reporting children from the recorder: soon after a change, else now and then, never two at once."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import replace

from necroscope.agent.child_job import ChildJob
from necroscope.kubernetes.condition import Condition
from necroscope.kubernetes.event_series import EventSeries
from necroscope.kubernetes.report_payload import Handover, write_handover
from necroscope.model.recorder_status import KubernetesStatus
from necroscope.model.retry import Retry, add_jitter
from necroscope.store.child import Ended

SHORTEST_PAUSE = 3.0  # seconds between two reports, whatever happens
SOON = 3.0  # a change is reported within so long; not at once, since it may have come to many nodes together
RETRY = Retry(first_seconds=10.0, max_seconds=300.0)
REFUSED_PAUSE = 300.0  # somebody has to repair it
LONGEST_WISH = 3600.0  # for which the API server may ask to be left alone
STUCK_SECONDS = 120.0
RUN_SECONDS, LAST_SECONDS = 30.0, 5.0
MAX_EVENTS = 100  # to be handed over


class Reporter:
    """`command` reads what to report from its standard input, reports it and prints JSON."""

    def __init__(self, command: Sequence[str], every_seconds: float) -> None:
        self.command = list(command)
        self.every_seconds = every_seconds
        self.is_on = True
        self.status = KubernetesStatus()
        self.job = ChildJob("reporting", STUCK_SECONDS, self._finish)
        self._conditions: tuple[Condition, ...] = ()
        self._reported: set[tuple[str, str, str]] = set()  # the fingerprints that were reported last
        self._reporting: set[tuple[str, str, str]] = set()  # those of the child at work
        self._events: dict[str, EventSeries] = {}  # not handed over yet
        self._handed: dict[str, EventSeries] = {}  # to the child at work
        self._failures = 0  # in a row
        self._due: float | None = None  # when the next report is wanted
        self._not_before = 0.0

    def take(self, conditions: Sequence[Condition]) -> None:
        """How the node is now. A change of a status or a reason is reported soon, one of a number later."""
        self._conditions = tuple(conditions)
        if self._fingerprints() != (self._reporting or self._reported):
            self._want_soon()

    def add(self, events: Sequence[EventSeries]) -> None:
        """What happened."""
        for series in events:
            self._events[series.id] = series
            self._want_soon()
        while len(self._events) > MAX_EVENTS:
            self._events.pop(next(iter(self._events)))
            self.count_dropped(1)

    def count_dropped(self, number: int) -> None:
        """Events that will not be reported."""
        self.status = replace(self.status, dropped=self.status.dropped + number)

    def tick(self) -> None:
        """See to the child at work, and start one when it is time. It never waits."""
        if self.job.is_working() or not self.is_on or self._due is None:
            return
        if time.monotonic() >= max(self._due, self._not_before):
            self._start(RUN_SECONDS)

    def finish(self) -> None:
        """One quick attempt for what was not handed over yet. Conditions stay as they are."""
        self.job.finish(LAST_SECONDS, self._start_last)  # what still waits is on disk

    def _start_last(self, seconds: float) -> None:
        if self.is_on and self._events:
            self._start(seconds)

    def _fingerprints(self) -> set[tuple[str, str, str]]:
        return {one.fingerprint for one in self._conditions}

    def _want_soon(self) -> None:
        soon = time.monotonic() + random.uniform(0, SOON)
        self._due = soon if self._due is None else min(self._due, soon)

    def _start(self, seconds: float) -> None:
        self._handed, self._events = self._events, {}
        self._reporting = self._fingerprints()
        content = write_handover(Handover(time.time_ns(), self._conditions, tuple(self._handed.values())))
        self._due, self._not_before = None, time.monotonic() + SHORTEST_PAUSE
        self.job.start([*self.command, "--seconds", f"{seconds:g}s"], content)

    def _take_back(self) -> None:
        """A child that said nothing, or could not write, may have kept nothing: hand it over again."""
        self._events = {**self._handed, **self._events}
        self._handed, self._reporting = {}, set()

    def _finish(self, ended: Ended) -> None:
        document = ended.document
        result = document.get("result")
        if result is None:
            self._take_back()
            self._put_off("failed", ended.why("reporting"), None)
            return
        problems = "; ".join(map(str, document.get("problems", ())))
        self.status = replace(self.status, waiting=document.get("waiting", 0), problems=problems)
        self.count_dropped(document.get("dropped", 0))
        if not document.get("kept", True) and (result != "ok" or document.get("waiting")):
            self._take_back()  # to report twice does no harm
        reporting, self._reporting, self._handed = self._reporting, set(), {}
        if result != "ok":
            self._put_off(result, ended.why("reporting"), document.get("retry_after_seconds"))
            return
        self._reported, self._failures = reporting, 0
        self.status = replace(
            self.status, ok=self.status.ok + 1, last_success_us=time.time_ns() // 1000, error=""
        )
        again = time.monotonic() + add_jitter(self.every_seconds)
        self._due = again if self._due is None else min(self._due, again)

    def _put_off(self, result: str, why: str, wish_seconds: float | None) -> None:
        is_refused = result == "refused"
        self._failures += 1
        pause = add_jitter(REFUSED_PAUSE) if is_refused else RETRY.pause_seconds(self._failures)
        self.status = replace(
            self.status,
            refused=self.status.refused + is_refused,
            failed=self.status.failed + (not is_refused),
            error=why,
        )
        self._not_before = time.monotonic() + max(pause, min(wish_seconds or 0.0, LONGEST_WISH))
        self._due = self._not_before
