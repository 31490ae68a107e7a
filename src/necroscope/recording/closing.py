"""Segments that got their last moment: handed on to be sealed when all of them is on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
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
        self._hand_on([closed for closed in self._closed if self._has_samples(closed)])
        self._sealer.tick()

    def finish(self) -> None:
        """Hand on everything, and wait until it is sealed. No more samples will come."""
        self._writer.close(FINISH_SECONDS)
        self._hand_on(list(self._closed))
        self._sealer.drain(FINISH_SECONDS)

    def _hand_on(self, closed: Sequence[_Closed]) -> None:
        finished = set(self._writer.finished)
        for one in closed:
            if one.folder in finished:
                self._closed.remove(one)
                self._writer.finished.remove(one.folder)
                self._sealer.add(one.folder)

    def _has_samples(self, closed: _Closed) -> bool:
        if not self._profiler or time.monotonic() - closed.at > PATIENCE_SECONDS:
            return True
        return self._profiler.is_done_with(closed.folder)
