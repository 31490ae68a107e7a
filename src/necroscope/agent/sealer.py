"""Seals closed segments one after the other in short-lived children, so that the recorder stays small.

What a child reads may have been made to harm it: a file with the names of a program's functions may hang it,
or fill its memory. So a child has a time, and a segment whose child hung or died is tried again with less:
without the files of programs, and then without the samples. For a while the segments after it are, too: what
did the harm most likely is still there.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from necroscope.agent.child_job import NOT_STARTED, ChildJob
from necroscope.model.retry import Retry
from necroscope.sources.hierarchies import Hierarchy, read_hierarchies
from necroscope.sources.host import Host
from necroscope.store.child import OURSELVES, Ended
from necroscope.store.config import RecordSettings
from necroscope.store.seal import NAMES

RETRY = Retry(first_seconds=1.0, max_seconds=60.0)
GIVEN_UP_SECONDS = 3600.0  # until the next attempt with a segment that cannot even be sealed with the least
MIN_SLOW_SECONDS, MIN_STUCK_SECONDS = 5.0, 30.0  # if segments are short; sealing one takes a second or two
CAREFUL_TIMES = 5  # for how many times the longest attempt the segments after it are sealed with less
DEATHS = 2  # of children that mean that it is the segment, and not the memory that others took
LACKS = ("", "without the names of functions of programs", "without samples")  # segments by `seal --names`
NOT_THE_SEGMENT = ("store", NOT_STARTED)  # the slugs of a full disk and the like

# What takes more has read something that was made to harm us: 1.1 million samples of 96 CPUs take 300 MB.
MAX_MEMORY_BYTES = 1 << 30
OTHERS_BYTES = 160 << 20  # of the same cgroup: the recorder, perf and its buffers
BYTES_PER_SAMPLE = 256  # twice what five million samples take, for those who sample ten times as often
LIMIT_FILES = {1: "memory.limit_in_bytes", 2: "memory.max"}  # by version of the hierarchy


def stuck_seconds(segment_seconds: float) -> float:
    """Return how long a child may take: twice as long as the segment."""
    return max(2 * segment_seconds, MIN_STUCK_SECONDS)


@dataclass(slots=True)
class _Waiting:
    """A segment to be sealed."""

    folder: Path
    failures: int = 0
    deaths: int = 0  # with these names
    names: int = 0
    not_before: float = 0.0
    why: str = ""  # it failed


class Sealer:
    """A queue of segments. `command` with a folder behind it seals that folder and prints JSON."""

    def __init__(self, command: Sequence[str], segment_seconds: float, memory_bytes: int = 0) -> None:
        self.command = list(command)
        self.segment_seconds = segment_seconds
        self.memory_bytes = memory_bytes  # what a child may take; 0: no limit
        self.sealed = 0
        self.incomplete = 0  # of them without all that was in them
        self.store_bytes = 0
        self._queue: deque[_Waiting] = deque()  # the first is the child's while there is one
        self.job = ChildJob("sealing", stuck_seconds(segment_seconds), self._finish)
        self._names = 0  # of the child at work
        self._lacks = ""  # what the segment that was sealed last lacks, and why
        self._careful = (0, 0.0, "")  # with which names until when, and why

    @property
    def waiting(self) -> int:
        """Segments that are closed and not sealed yet."""
        return len(self._queue)

    @property
    def error(self) -> str:
        """Return why segments cannot be sealed with all that is in them; empty if they can."""
        if self.job.age_seconds > max(self.segment_seconds, MIN_SLOW_SECONDS):
            return f"sealing {self._queue[0].folder.name} has taken {self.job.age_seconds:.0f} s so far"
        return next((one.why for one in self._queue if one.why), self._lacks)

    def add(self, folder: Path) -> None:
        """Seal this segment when its turn comes."""
        self._queue.append(_Waiting(folder))

    def tick(self) -> None:
        """See to the child at work, and start the next."""
        self.job.limit_seconds = stuck_seconds(self.segment_seconds)
        if self.job.is_working():
            return
        if ready := next((one for one in self._queue if time.monotonic() >= one.not_before), None):
            self._start(ready)

    def drain(self, timeout_seconds: float) -> None:
        """Seal all that is waiting, each with one attempt, as far as the time allows."""
        end = time.monotonic() + timeout_seconds
        attempts = len(self._queue)
        # One does not hold up the others.
        each = self.job.limit_seconds = timeout_seconds / 2 if attempts > 1 else timeout_seconds
        while (self.job.is_working() or (self._queue and attempts)) and time.monotonic() < end:
            if self.job.pid is None:
                attempts -= 1
                self._start(self._queue[0])
            else:
                self.job.wait(min(end - time.monotonic(), max(each - self.job.age_seconds, 0.01)))
        for one in self._queue:
            one.why = one.why or f"{one.folder.name} is not sealed: there was no time left"

    def _start(self, waiting: _Waiting) -> None:
        self._queue.remove(waiting)
        self._queue.appendleft(waiting)
        names, until, _ = self._careful
        self._names = max(waiting.names, names if time.monotonic() < until else 0)
        less = ["--names", NAMES[self._names]] if self._names else []
        command = [*self.command, *less, str(waiting.folder)]
        self.job.start(command, memory_bytes=self.memory_bytes)

    def _finish(self, ended: Ended) -> None:
        self.store_bytes = ended.document.get("store_bytes", self.store_bytes)
        if ended.code != 0:
            self._put_off(ended)
            return
        waiting = self._queue.popleft()
        self.sealed += 1
        is_incomplete = bool(ended.document.get("incomplete"))
        self.incomplete += is_incomplete
        if waiting.names:  # less has helped
            careful_seconds = CAREFUL_TIMES * stuck_seconds(self.segment_seconds)
            self._careful = (self._names, time.monotonic() + careful_seconds, waiting.why)
        why = waiting.why or self._careful[2]
        name = waiting.folder.name
        self._lacks = f"{name} was sealed {LACKS[self._names]}: {why}" if is_incomplete else ""

    def _put_off(self, ended: Ended) -> None:
        """Another one may be sealed meanwhile; this one can be read all the same."""
        waiting = self._queue.popleft()
        waiting.why = ended.why("sealing")
        waiting.failures += 1
        pause_seconds = RETRY.pause_seconds(waiting.failures)
        was_stuck = ended.killed_after_seconds is not None
        is_the_segment = was_stuck or ended.slug not in NOT_THE_SEGMENT
        waiting.deaths += is_the_segment
        if was_stuck or (is_the_segment and waiting.deaths >= DEATHS):
            waiting.deaths = 0
            waiting.names = min(self._names + 1, len(NAMES) - 1)
            if self._names == waiting.names:
                pause_seconds = GIVEN_UP_SECONDS
        waiting.not_before = time.monotonic() + pause_seconds
        self._queue.append(waiting)


def seal_command(host: Host, store: Path, settings: RecordSettings, *, keep_capture: bool) -> list[str]:
    """Return the command."""
    budget = settings.budget
    seconds = stuck_seconds(settings.segment_seconds)
    command = [*OURSELVES, "seal", "--json", "--max-time", f"{seconds:g}s"]
    command += ["--keep-perf-data"] if keep_capture else []
    command += ["--root", str(host.root)]
    command += ["--store", str(store), "--age", f"{budget.age_seconds:g}s"]
    return [*command, "--budget", str(budget.total_bytes), "--kept-budget", str(budget.kept_bytes)]


def seal_memory_bytes(settings: RecordSettings, limit_bytes: int | None) -> int:
    """Return how much memory a sealing child may take, in a cgroup that may take so much.

    Else the kernel would end all of the cgroup, and the recorder with it.
    """
    samples = settings.segment_seconds * settings.rate * (os.cpu_count() or 1)
    wanted = max(MAX_MEMORY_BYTES, int(samples) * BYTES_PER_SAMPLE)
    return wanted if limit_bytes is None else min(wanted, max(limit_bytes - OTHERS_BYTES, limit_bytes // 2))


def read_own_memory_limit(host: Host) -> int | None:
    """Return the least memory that our cgroup and those above it may take; None if there is no limit."""
    groups = host.read("/proc/self/cgroup", errors="surrogateescape").value or ""
    limits = []
    for hierarchy in read_hierarchies(host).value or ():
        for line in groups.splitlines():
            _, controllers, path = (*line.split(":", 2), "", "")[:3]
            if _is_of_memory(hierarchy, controllers):
                # In a cgroup namespace, a path may lead out of what is mounted.
                inside = "/" if ".." in path else path
                for folder in (inside, *map(str, PurePosixPath(inside).parents)):
                    limits.append(host.word(f"{hierarchy.mount}{folder}/{LIMIT_FILES[hierarchy.version]}"))
    return min((int(limit) for limit in limits if limit.isdecimal()), default=None)


def _is_of_memory(hierarchy: Hierarchy, controllers: str) -> bool:
    if hierarchy.version == 2:
        return controllers == ""
    return "memory" in hierarchy.controllers and "memory" in controllers.split(",")
