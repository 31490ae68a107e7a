"""Samples that stay in the kernel's buffers until an event asks for them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from necroscope.model.event import Event
from necroscope.profiles.capture import Capture, Closed, Ended, Ready
from necroscope.profiles.segment_capture import STOP_SECONDS, gap, remove_if_empty
from necroscope.store.store import CAPTURE


class FlightCapture:
    """A profiler for the flight mode: a segment that begins is one that asks for the last seconds."""

    wants_new_segment = False

    def __init__(self, capture: Capture, folder: Path) -> None:
        self.capture = capture
        self._folder = folder  # of the capture
        self._waiting: Path | None = None
        self._hole: tuple[int, str] | None = None
        capture.start()

    def begin_segment(self, folder: Path) -> None:
        """Have perf write its buffers out; the file will be in this folder."""
        if self.capture.switch():
            self._waiting = folder

    def tick(self) -> Sequence[Event]:
        """Look after perf; the holes that are closed now."""
        events: list[Event] = []
        for news in self.capture.tick(time.monotonic_ns()):
            match news:
                case Ready(_, at_ns):
                    self.capture.retire_old()  # where this one is a replacement
                    events += [gap(self._hole[0], at_ns, self._hole[1])] if self._hole else []
                    self._hole = None
                case Closed(_, path):
                    self._take(path)
                case Ended(_, reason, at_ns):
                    self._hole = self._hole or (at_ns, reason)
        return events

    def is_done_with(self, folder: Path) -> bool:
        """Whether the buffers have been written."""
        return self._waiting != folder

    def stop(self) -> Sequence[Event]:
        """End perf. What it still holds is written out by it, and only kept if it was asked for."""
        hole, self._hole = self._hole, None
        for news in self.capture.stop(STOP_SECONDS):
            if isinstance(news, Closed):
                self._take(news.path)
        remove_if_empty(self._folder)
        return [gap(hole[0], time.monotonic_ns(), hole[1])] if hole else []

    def _take(self, path: Path) -> None:
        folder, self._waiting = self._waiting, None
        with suppress(OSError):
            if folder:
                os.link(path, folder / CAPTURE)
            path.unlink()
