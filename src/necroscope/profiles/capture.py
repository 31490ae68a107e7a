"""perf as an always-on recorder needs it: started, kept running, cut into files, replaced without a hole.

A loop calls `tick` about once a second and acts on the news. Whatever perf does is news or state
(`error`, `left_out`), never an exception; only `stop` waits.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from necroscope.model.retry import Retry
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.perf_command import PerfCommand, Wish, do_with_less, plan_command
from necroscope.profiles.perf_session import HEAD_BYTES, PerfSession, closed_files, sessions_in
from necroscope.sources.host import Host
from necroscope.sources.plain_files import open_plain

GOOD_RUN_NS = 60 * SECOND_NS
RETRY = Retry(first_seconds=1.0, max_seconds=60.0)
MOST_RESIDENT_BYTES = 256 << 20  # perf has been seen to grow for weeks: then it is replaced
WEIGH_EVERY_NS = 10 * SECOND_NS
# What perf may write to a file until it is ended: what samples take, and what a node of 96 CPUs with 600
# processes writes about mappings, names and forks. A program that maps a file without end writes 60 MB/s.
FREE_BYTES = 256 << 20
MAX_SAMPLE_BYTES = 1200  # 127 frames, the kernel's limit, and what else is in a sample
OTHER_BYTES_PER_SECOND = 64 << 10  # and CPU
TOO_LARGE = "perf was ended: its file grew faster than samples do, as if a program mapped files without end"
FEW_MAPS_NS = 600 * SECOND_NS  # for so long after that, perf does not read the mappings there are
RETIREMENT_NS = 30 * SECOND_NS  # to write out its last file; on a large node this takes seconds


@dataclass(frozen=True, slots=True)
class Ready:
    """perf is sampling, at the latest since then."""

    session: int
    monotonic_ns: int


@dataclass(frozen=True, slots=True)
class Closed:
    """A file is complete. The newest one of a session must stay until the next: see `Ended.head`."""

    session: int
    path: Path


@dataclass(frozen=True, slots=True)
class Ended:
    """perf has ended, because it was asked to or not. All its closed files were told before."""

    session: int
    reason: str
    monotonic_ns: int
    leftover: Path | None  # the file it did not finish
    head: Path | None  # the closed file that a reader of the leftover takes the events from, where it must


CaptureNews = Ready | Closed | Ended


class Capture:
    """A perf that is kept running. `start` and `replace` only from the main thread."""

    def __init__(
        self, folder: Path, host: Host, rate: int, *, perf: str = "perf", flight: bool = False
    ) -> None:
        self.error = ""  # why there is no capture, or no replacement; empty when all is well
        self.starts = 0
        self._folder = folder.absolute()
        self._host = host
        self._perf = perf
        self._flight = flight
        self._rate = rate
        self._number = 0
        self._command = plan_command(host, rate, flight=flight)
        self._worked_without: tuple[Wish, ...] | None = None  # what was refused when perf was ready last
        self._current: PerfSession | None = None
        self._next: PerfSession | None = None  # becomes the current one when it is ready
        self._old: list[PerfSession] = []  # replaced; they run until retired
        self._emptying: list[PerfSession] = []  # ended; their folders go when the files are gone
        self._ended_cpu_seconds = 0.0
        self._failures = 0
        self._pause_until_ns = 0
        self._wanted = False
        self._weigh_ns = 0
        self._few_maps_until_ns = 0

    @property
    def is_ready(self) -> bool:
        """Whether perf is sampling."""
        return self._current is not None and self._current.ready_ns is not None

    @property
    def current_folder(self) -> Path | None:
        """Where the perf that is to be read from writes; None while there is none."""
        return self._current.folder if self._current else None

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the capture has to do without, in plain sentences."""
        return self._command.left_out

    @property
    def description(self) -> str:
        """What is sampled, and how often."""
        return self._command.description

    def start(self) -> None:
        """Start perf, and keep it running. Once it was given up: try afresh, with all wishes."""
        if self._wanted or self._current:
            return
        self._wanted = True
        if self.error:
            self._command = plan_command(self._host, self._rate, flight=self._flight)
        self._current = self._launch(self._command, time.monotonic_ns())

    def replace(self, rate: int | None = None) -> bool:
        """Start a second perf; when it is ready (news), call `retire_old`. False: not now."""
        now_ns = time.monotonic_ns()
        if self._current is None or self._next or self._old or now_ns < self._pause_until_ns:
            return False
        self._rate = rate or self._rate
        self._next = self._launch(self._plan(now_ns), now_ns)
        return self._next is not None

    def _plan(self, now_ns: int) -> PerfCommand:
        known, few_maps = self._command.refused, now_ns < self._few_maps_until_ns
        return plan_command(self._host, self._rate, flight=self._flight, few_maps=few_maps, refused=known)

    def retire_old(self) -> None:
        """End the perf that was replaced; its last file will be news."""
        for session in self._old:
            session.ask_to_end("retired", time.monotonic_ns())

    def switch(self) -> bool:
        """Have perf close its file, which will be news, and go on in a new one; False where it cannot yet."""
        return self._current is not None and self._current.switch()

    def tick(self, now_ns: int) -> list[CaptureNews]:
        """Look after perf; what happened since the last time."""
        news: list[CaptureNews] = []
        for session in self._running():
            was_ready = session.ready_ns is not None
            session.look(now_ns)
            self._watch_file(session, now_ns)
            news += [Closed(session.number, path) for path in session.newly_closed()]
            if session.exit_code is not None:
                news += self._bury(session, now_ns)
            elif session.ready_ns is not None and not was_ready and not session.asked_to_end:
                news.append(Ready(session.number, now_ns))
                self._promote(session)
            elif session.asked_to_end and now_ns - session.asked_ns > RETIREMENT_NS:
                session.kill()
        if self._wanted and self._current is None and now_ns >= self._pause_until_ns:
            self._current = self._launch(self._command, now_ns)
        self._emptying = [session for session in self._emptying if not session.remove_if_empty()]
        self._watch_memory(now_ns)
        if self._few_maps_until_ns and now_ns >= self._few_maps_until_ns and self.replace():
            self._few_maps_until_ns = 0
        return news

    def _watch_file(self, session: PerfSession, now_ns: int) -> None:
        """End a perf whose file grows too fast; it is started again, after a pause if that goes on."""
        rate = session.command.rate * MAX_SAMPLE_BYTES + OTHER_BYTES_PER_SECOND
        size = session.file_bytes(now_ns)
        seconds = (now_ns - session.file_began_ns) / SECOND_NS
        limit = FREE_BYTES + int(seconds * rate * (os.cpu_count() or 1))
        session.limit_file(2 * limit)  # should we not come back in time
        if size > limit:
            session.ask_to_end(TOO_LARGE, now_ns)

    def _watch_memory(self, now_ns: int) -> None:
        if now_ns >= self._weigh_ns:
            self._weigh_ns = now_ns + WEIGH_EVERY_NS
            if self.resident_bytes() > MOST_RESIDENT_BYTES:
                self.replace()

    def stop(self, timeout_seconds: float) -> list[CaptureNews]:
        """End perf, and wait for it; the last news."""
        self._wanted = False
        for session in self._running():
            session.ask_to_end("stopped", time.monotonic_ns())
        news = self._wait(timeout_seconds)
        for session in self._running():
            session.kill()
        return news + self._wait(1.0)  # one that hangs in the kernel is left to it

    def resident_bytes(self) -> int:
        """Memory of all that run."""
        return sum(session.resident_bytes() for session in self._running())

    def cpu_seconds(self) -> float:
        """CPU time of all that ever ran."""
        return self._ended_cpu_seconds + sum(session.cpu_seconds() for session in self._running())

    def _running(self) -> list[PerfSession]:
        return [session for session in (*self._old, self._current, self._next) if session]

    def _launch(self, command: PerfCommand, now_ns: int) -> PerfSession | None:
        perf = shutil.which(self._perf)
        if perf is None:
            self._fail(f"{self._perf} is not installed", now_ns)
            return None
        taken = (int(path.name) for path in sessions_in(self._folder))
        self._number = max(self._number, *taken, 0) + 1
        self.starts += 1
        try:
            return PerfSession(self._folder / str(self._number), command, perf, now_ns)
        except OSError as error:
            self._fail(f"perf cannot be started: {error}", now_ns)
            return None

    def _promote(self, session: PerfSession) -> None:
        if session is self._next:
            self._old += [self._current] if self._current else []
            self._current, self._next = session, None
        if session is self._current:
            self._command = session.command
            self._worked_without = session.command.refused
            self.error = ""

    def _bury(self, session: PerfSession, now_ns: int) -> list[CaptureNews]:
        """Account for an ended session, and see what comes after it."""
        self._ended_cpu_seconds += session.cpu_seconds()
        is_next, is_current = session is self._next, session is self._current
        who = "the replacement: " if is_next else ""
        self._next = None if is_next else self._next
        self._current = None if is_current else self._current
        self._old = [old for old in self._old if old is not session]
        news: list[CaptureNews] = []
        if session.was_refused():
            again = self._do_with_less(session, now_ns, who)
            self._next = again if is_next else self._next
            self._current = again if is_current else self._current
        else:
            self._emptying.append(session)
            leftover = session.leftover()
            head = _head_beside(leftover) if leftover else None
            news.append(Ended(session.number, session.reason(), now_ns, leftover, head))
            if session.asked_to_end in ("", TOO_LARGE) and (is_next or is_current):
                if session.ready_ns is not None and now_ns - session.ready_ns >= GOOD_RUN_NS:
                    self._failures = 0
                self._fail(who + session.reason(), now_ns, ran=session.ready_ns is not None)
                if session.asked_to_end:
                    self._few_maps_until_ns = now_ns + FEW_MAPS_NS
                    self._command = self._plan(now_ns)
        if self._current is None and self._next is not None:  # it takes over before it is ready
            self._current, self._next = self._next, None
        return news

    def _do_with_less(self, session: PerfSession, now_ns: int, who: str) -> PerfSession | None:
        has_worked = session.command.refused == self._worked_without
        outcome = do_with_less(session.command, session.stderr(), has_worked=has_worked)
        session.discard()
        if isinstance(outcome, PerfCommand):
            if not who:
                self._command = outcome
            return self._launch(outcome, now_ns)
        self._fail(f"{who}{outcome.sentence}", now_ns)
        if not who and not outcome.passes:
            self._wanted = False
        return None

    def _wait(self, seconds: float) -> list[CaptureNews]:
        news: list[CaptureNews] = []
        end = time.monotonic() + seconds
        while self._running():
            news += self.tick(time.monotonic_ns())
            if time.monotonic() >= end:
                break
            time.sleep(0.01)
        return news

    def _fail(self, why: str, now_ns: int, *, ran: bool = False) -> None:
        """Record what is wrong, and pause before the next start.

        One that ran well until now is started again at once: every second without it is a hole.
        """
        self.error = why
        at_once = ran and not self._failures
        pause_seconds = 0.0 if at_once else RETRY.pause_seconds(self._failures + 1)
        self._failures += 1
        self._pause_until_ns = now_ns + int(pause_seconds * SECOND_NS)


def _head_beside(leftover: Path) -> Path | None:
    """The file whose head counts for a leftover; None where it has its own, as a session's first one has."""
    try:
        with os.fdopen(open_plain(leftover), "rb") as file:
            has_head = any(file.read(HEAD_BYTES))
    except OSError:
        return None
    return None if has_head else max(closed_files(leftover.parent), default=None)
