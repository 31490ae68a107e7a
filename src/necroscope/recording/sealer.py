"""Seals closed segments one after the other in short-lived children, so that the recorder stays small."""

from __future__ import annotations

import json
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MOST_ATTEMPTS = 3  # then it stays open, can be read all the same, and the next start tries again
STUCK_SECONDS = 600.0


class Sealer:
    """A queue of segments. `command` with a folder behind it seals that folder and prints JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.sealed = 0
        self.store_bytes = 0
        self.cpu_seconds = 0.0
        self.error = ""
        self._queue: deque[Path] = deque()
        self._attempts = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    @property
    def waiting(self) -> int:
        """Segments that are closed and not sealed yet."""
        return len(self._queue)

    @property
    def child_pid(self) -> int | None:
        """The child at work."""
        return self._child.pid if self._child else None

    def add(self, folder: Path) -> None:
        """Seal this segment when its turn comes."""
        self._queue.append(folder)

    def tick(self) -> None:
        """See to the child at work, and start the next."""
        if self._child and self._child.poll() is None:
            if time.monotonic() - self._began > STUCK_SECONDS:
                self._child.kill()
            return
        if self._child:
            self._finish(self._child)
        if self._queue:
            self._start(self._queue[0])

    def drain(self, timeout_seconds: float) -> None:
        """Seal all that is waiting, as far as the time allows."""
        end = time.monotonic() + timeout_seconds
        while (self._queue or self._child) and time.monotonic() < end:
            self.tick()
            if self._child:
                try:
                    self._child.wait(max(end - time.monotonic(), 0))
                except subprocess.TimeoutExpired:
                    return

    def _start(self, folder: Path) -> None:
        try:
            # In a session of its own: a Ctrl-C at the terminal is meant for the recorder.
            self._child = subprocess.Popen(
                [*self.command, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._give_up(f"cannot start the sealing child: {error.strerror}")
        self._began = time.monotonic()

    def _finish(self, child: subprocess.Popen[bytes]) -> None:
        answer = child.stdout.read() if child.stdout else b""  # a line; it has ended
        code = child.wait()
        self._child = None
        document = _parsed(answer)
        self.cpu_seconds += document.get("cpu_seconds", 0.0)
        self.store_bytes = document.get("store_bytes", self.store_bytes)
        error = document.get("error") or {}
        what = error.get("what") or f"the sealing child ended with {code}"
        if code == 0:
            self._queue.popleft()
            self._attempts = 0
            self.sealed += 1
            self.error = ""
        else:
            self._give_up(what)

    def _give_up(self, why: str) -> None:
        self.error = why
        self._attempts += 1
        if self._attempts >= MOST_ATTEMPTS:
            self._queue.popleft()
            self._attempts = 0


def _parsed(answer: bytes) -> dict[str, Any]:
    """What a child printed; nothing where it was killed in the middle of it."""
    try:
        document = json.loads(answer)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
