"""Seals closed segments one after the other in short-lived children, so that the recorder stays small."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.recording.child import Child, Ended

LONGEST_PAUSE_SECONDS = 60.0
STUCK_SECONDS = 600.0


@dataclass(slots=True)
class _Waiting:
    """A segment to be sealed. One that could not be is tried again after 1 s, 2, 4 and so on."""

    folder: Path
    failures: int = 0
    not_before: float = 0.0


class Sealer:
    """A queue of segments. `command` with a folder behind it seals that folder and prints JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.sealed = 0
        self.store_bytes = 0
        self.cpu_seconds = 0.0
        self.error = ""
        self._answer: Mapping[str, Any] | None = None
        self._queue: deque[_Waiting] = deque()
        self._child = Child()

    @property
    def waiting(self) -> int:
        """Segments that are closed and not sealed yet."""
        return len(self._queue)

    @property
    def child_pid(self) -> int | None:
        """The child at work."""
        return self._child.pid

    def answer(self) -> Mapping[str, Any] | None:
        """What the last child that succeeded said, once; None: nothing new."""
        answer, self._answer = self._answer, None
        return answer

    def add(self, folder: Path) -> None:
        """Seal this segment when its turn comes."""
        self._queue.append(_Waiting(folder))

    def tick(self) -> None:
        """See to the child at work, and start the next."""
        if self._is_working():
            if self._child.age_seconds > STUCK_SECONDS:
                self._child.kill()
        elif self._queue and time.monotonic() >= self._queue[0].not_before:
            self._start(self._queue[0].folder)

    def drain(self, timeout_seconds: float) -> None:
        """Seal all that is waiting, each with one attempt, as far as the time allows."""
        end = time.monotonic() + timeout_seconds
        attempts = len(self._queue)
        while (self._is_working() or (self._queue and attempts)) and time.monotonic() < end:
            if self._child.pid is None:
                attempts -= 1
                self._start(self._queue[0].folder)
            else:
                self._child.wait(end - time.monotonic())

    def _is_working(self) -> bool:
        if ended := self._child.ended():
            self._finish(ended)
        return self._child.pid is not None

    def _start(self, folder: Path) -> None:
        try:
            self._child.start([*self.command, str(folder)])
        except OSError as error:
            self._put_off(f"cannot start the sealing child: {error.strerror}")

    def _finish(self, ended: Ended) -> None:
        self.cpu_seconds += ended.document.get("cpu_seconds", 0.0)
        self.store_bytes = ended.document.get("store_bytes", self.store_bytes)
        if ended.code == 0:
            self._queue.popleft()
            self.sealed += 1
            self.error = ""
            self._answer = ended.document
        else:
            self._put_off(ended.why("sealing"))

    def _put_off(self, why: str) -> None:
        """Another one may be sealed meanwhile; this one can be read all the same."""
        self.error = why
        waiting = self._queue.popleft()
        waiting.not_before = time.monotonic() + min(2.0**waiting.failures, LONGEST_PAUSE_SECONDS)
        waiting.failures = min(waiting.failures + 1, 10)
        self._queue.append(waiting)
