"""Segments that got their last moment: handed on to be sealed when all of them is on disk."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from necroscope.recording.output import Workshop

PATIENCE_SECONDS = 15.0  # for perf to close its file
FINISH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Closed:
    folder: Path
    at: float


class Closing:
    """Waits for the journal and the samples of closed segments."""

    def __init__(self, workshop: Workshop) -> None:
        self._writer = workshop.writer
        self._sealer = workshop.sealer
        self._profiler = workshop.profiler
        self._closed: list[_Closed] = []

    def add(self, folder: Path) -> None:
        """A segment that gets no more moments."""
        self._closed.append(_Closed(folder, time.monotonic()))

    def has(self, folder: Path) -> bool:
        """Whether a folder is waiting here."""
        return any(closed.folder == folder for closed in self._closed)

    def tick(self) -> None:
        """Hand on what is complete."""
        finished = set(self._writer.finished)
        for closed in list(self._closed):
            if closed.folder in finished and self._has_samples(closed):
                self._closed.remove(closed)
                self._writer.finished.remove(closed.folder)
                self._sealer.add(closed.folder)
        self._sealer.tick()

    def finish(self) -> None:
        """Hand on everything, and wait until it is sealed."""
        self._writer.close(FINISH_SECONDS)
        self.tick()
        self._sealer.drain(FINISH_SECONDS)

    def _has_samples(self, closed: _Closed) -> bool:
        if not self._profiler or time.monotonic() - closed.at > PATIENCE_SECONDS:
            return True
        return self._profiler.is_done_with(closed.folder)
