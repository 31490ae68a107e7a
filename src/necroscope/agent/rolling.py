"""Segments on disk, one after the other: opened, filled by the second, closed, handed on to be sealed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope import __version__
from necroscope.agent.closing import Closing
from necroscope.agent.output import Workshop
from necroscope.errors import StoreError
from necroscope.model.event import Event
from necroscope.model.labels import Labels
from necroscope.sources.catalog import SOURCES
from necroscope.store.clock import Anchor
from necroscope.store.durable import FOLDER_MODE
from necroscope.store.journal import (
    MAX_JOURNAL_BYTES,
    End,
    anchor_frame,
    clip_frame,
    end_frame,
    event_frame,
    layout_frame,
    moment_frame,
)
from necroscope.store.segment import Moment
from necroscope.store.store import CAPTURE, OPEN, SCHEMA, segment_names

FULL_BYTES = MAX_JOURNAL_BYTES // 2  # more would not be read again
ANCHOR_EVERY_NS = 9_500_000_000
SINCE_LAST = {source.id for source in SOURCES if source.is_since_last}


class RollingSegments:
    """The ordinary output of a recorder."""

    def __init__(self, workshop: Workshop, seconds: float) -> None:
        self.seconds = seconds
        self._parent = workshop.folder
        self._labels = workshop.labels
        self._writer = workshop.writer
        self._profiler = workshop.profiler
        self._closing = Closing(workshop)
        self._folder: Path | None = None
        self._begin_ns = 0
        self._journal_bytes = 0
        self._anchored_ns = 0

    def begin(self, moment: Moment, anchor: Anchor) -> None:
        """Open the first segment."""
        self._open(moment, anchor)

    def wants_everything(self) -> bool:
        """Whether a segment is about to be full."""
        return self._is_full(time.monotonic_ns()) or self._wants_new()

    def take(self, moment: Moment, events: Sequence[Event], anchor: Anchor, *, stepped: bool) -> None:
        """Write a moment; the one that fills a segment is also the first of the next."""
        self._write(moment, events, None if stepped else anchor)
        is_full = self._is_full(moment.time_ns)
        if stepped:  # the times of one segment must all stand to UTC in the same way
            self._change(moment, anchor, "clock-step")
        # With a disk that takes nothing, one long segment is better than many empty ones.
        elif (is_full or self._wants_new()) and not self._writer.error:
            self._change(moment, anchor, "full" if is_full else "capture")

    def take_last(self, moment: Moment, events: Sequence[Event], anchor: Anchor) -> None:
        """Write a moment that begins no other segment."""
        self._write(moment, events, anchor)

    def add(self, moment: Moment, events: Sequence[Event]) -> None:
        """Write what one source said between two moments."""
        self._write(moment, events, None)

    def tick(self) -> Sequence[Event]:
        """See to the samples and to the sealing."""
        events = self._profiler.tick() if self._profiler else ()
        self._closing.tick()
        return events

    def stop(self) -> Sequence[Event]:
        """End the capture; the open segment gets its last samples."""
        return self._profiler.stop() if self._profiler else ()

    def finish(self, events: Sequence[Event]) -> None:
        """Close the open segment and seal all that can be sealed."""
        for event in events:
            self._writer.append(event_frame(event))
        self._close(time.monotonic_ns(), "stopped")
        self._closing.finish()

    def _is_full(self, now_ns: int) -> bool:
        is_long = now_ns - self._begin_ns >= (self.seconds - 0.5) * 1e9
        return is_long or self._journal_bytes > FULL_BYTES

    def _wants_new(self) -> bool:
        return bool(self._profiler and self._profiler.wants_new_segment)

    def _change(self, moment: Moment, anchor: Anchor, why: str) -> None:
        old = self._folder
        folder = self._new_folder(moment, anchor)
        clip_ns = self._profiler.begin_segment(folder) if self._profiler else None
        if old and clip_ns is not None:
            self._writer.append(clip_frame("end", clip_ns))
        self._close(moment.time_ns, why)
        self._begin(folder, moment, anchor)
        if clip_ns is not None:
            self._writer.append(clip_frame("begin", clip_ns))

    def _open(self, moment: Moment, anchor: Anchor) -> None:
        folder = self._new_folder(moment, anchor)
        if self._profiler:
            self._profiler.begin_segment(folder)
        self._begin(folder, moment, anchor)

    def _begin(self, folder: Path, moment: Moment, anchor: Anchor) -> None:
        self._folder, self._begin_ns, self._anchored_ns, self._journal_bytes = folder, moment.time_ns, 0, 0
        self._writer.begin(folder, open_description(self._labels, moment.time_ns, anchor))
        self._writer.append(layout_frame())
        self._writer.beside = folder / CAPTURE
        # What is counted since the last reading belongs to the segment before.
        totals = {name: reading for name, reading in moment.readings.items() if name not in SINCE_LAST}
        self._write(Moment(moment.time_ns, totals, moment.cost_ns), (), anchor)

    def _write(self, moment: Moment, events: Sequence[Event], anchor: Anchor | None) -> None:
        frames = [moment_frame(moment), *(event_frame(event) for event in events)]
        if anchor and anchor.monotonic_ns - self._anchored_ns >= ANCHOR_EVERY_NS:
            frames.append(anchor_frame(anchor))
            self._anchored_ns = anchor.monotonic_ns
        data = b"".join(frames)
        self._journal_bytes += len(data)
        self._writer.append(data)

    def _close(self, time_ns: int, why: str) -> None:
        if self._folder:
            self._writer.append(end_frame(End(time_ns, why)))
            self._writer.end(self._folder)
            self._closing.add(self._folder)
            self._folder = None

    def _new_folder(self, moment: Moment, anchor: Anchor) -> Path:
        return make_folder(self._parent, moment.time_ns + anchor.offset_ns)


def make_folder(parent: Path, begin_ns: int) -> Path:
    """A folder of its own for a segment; where the disk is full, the writer will make it."""
    for folder in segment_names(parent, begin_ns):
        try:
            folder.mkdir(mode=FOLDER_MODE)
        except FileExistsError:
            continue
        except OSError:
            pass
        return folder
    raise StoreError(f"{parent}: too many segments of one second")


def open_description(labels: Labels, begin_monotonic_ns: int, anchor: Anchor) -> Mapping[str, Any]:
    """What segment.json says of a segment from its first second on."""
    begin_ns = begin_monotonic_ns + anchor.offset_ns
    return {
        "schema": SCHEMA,
        "state": OPEN,
        "host": asdict(labels),
        "begin_ns": begin_ns,
        "end_ns": begin_ns,
        "clock": {
            "offset_ns": anchor.offset_ns,
            "basis": "anchors",
            "synchronised": anchor.synchronised,
            "suspended_ns": anchor.suspended_ns,
        },
        "recorder": {"version": __version__, "pid": os.getpid()},
    }
