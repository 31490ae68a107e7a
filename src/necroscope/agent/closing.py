"""Segments that got their last moment: handed on to be sealed when all of them is on disk."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from necroscope.agent.output import Workshop

PATIENCE_SECONDS = 15.0  # for perf to close its file
# At the end; a service is given 90 s to stop.
WRITE_SECONDS, SEAL_SECONDS = 15.0, 45.0


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
        self._on_disk: set[Path] = set()  # segments whose journal is complete

    def add(self, folder: Path) -> None:
        """A segment that gets no more moments."""
        self._closed.append(_Closed(folder, time.monotonic()))

    def tick(self) -> None:
        """Hand on what is complete."""
        self._hand_on([closed for closed in self._closed if self._has_samples(closed)])
        self._sealer.tick()

    def finish(self) -> None:
        """Hand on everything, and wait until it is sealed. No more samples will come."""
        self._writer.close(WRITE_SECONDS)
        self._hand_on(list(self._closed))
        self._sealer.drain(SEAL_SECONDS)

    def _hand_on(self, closed: Sequence[_Closed]) -> None:
        while self._writer.finished:  # the writer's thread adds to it
            self._on_disk.add(self._writer.finished.popleft())
        for one in closed:
            if one.folder in self._on_disk:
                self._on_disk.remove(one.folder)
                self._closed.remove(one)
                self._sealer.add(one.folder)

    def _has_samples(self, closed: _Closed) -> bool:
        if not self._profiler or time.monotonic() - closed.at > PATIENCE_SECONDS:
            return True
        return self._profiler.is_done_with(closed.folder)
