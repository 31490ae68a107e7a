"""Supervise children of the recorder: one of a kind at a time, within limits, and again after a pause."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from necroscope.store.child import Child, Ended

NOT_STARTED = "not-started"  # the slug when there was no child that could print one


class ChildJob:
    """Run children that do one job. Only `wait` and `finish` wait."""

    def __init__(self, name: str, limit_seconds: float, hear: Callable[[Ended], None]) -> None:
        self.limit_seconds = limit_seconds  # a child that takes longer is stuck, and is ended
        self.cpu_seconds = 0.0
        self._name = name
        self._hear = hear
        self._child = Child()

    @property
    def pid(self) -> int | None:
        """Return the process id of the child at work."""
        return self._child.pid

    @property
    def age_seconds(self) -> float:
        """Return how long the child has been at work."""
        return self._child.age_seconds

    def start(self, command: Sequence[str], content: bytes = b"", memory_bytes: int = 0) -> None:
        """Start a child. If that cannot be done, `hear` is called at once with the reason."""
        try:
            self._child.start(command, content, memory_bytes)
        except OSError as error:
            what = f"cannot start the {self._name} child: {error.strerror}"
            self._hear(Ended(1, {"error": {"slug": NOT_STARTED, "what": what}}))

    def is_working(self) -> bool:
        """Return whether a child is at work; end one that is stuck, and pass on how one has ended."""
        if ended := self._child.ended():
            self.cpu_seconds += ended.document.get("cpu_seconds", 0.0)
            self._hear(ended)
        elif self._child.age_seconds > self.limit_seconds:
            self._child.kill()
        return self._child.pid is not None

    def wait(self, seconds: float) -> None:
        """Wait until the child has ended, or for this long."""
        self._child.wait(seconds)

    def finish(self, seconds: float, start_last: Callable[[float], None]) -> None:
        """Wait for the child at work, let the caller start a last one, and end what takes longer."""
        end = time.monotonic() + seconds
        self._child.wait(seconds)
        if not self.is_working():
            start_last(seconds / 2)
        self._child.wait(end - time.monotonic())
        self._child.kill()
        self._child.wait(seconds)
        self.is_working()
