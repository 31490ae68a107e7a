"""For machines where nothing may be written: all in memory, until something happens.

The last seconds of counters are kept in memory as they would be on disk, and perf keeps its samples in the
kernel's buffers. An event puts both on disk as one segment.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from necroscope.agent.closing import Closing
from necroscope.agent.output import Workshop
from necroscope.agent.rolling import SINCE_LAST, make_folder, open_description
from necroscope.model.event import KEPT_KINDS, Event
from necroscope.store.clock import Anchor
from necroscope.store.journal import (
    End,
    anchor_frame,
    end_frame,
    event_frame,
    layout_frame,
    moment_frame,
)
from necroscope.store.segment import Moment

TRIGGERS = KEPT_KINDS | {"core-saturated"}
AFTER_NS = 2_000_000_000  # what an event sets off is worth having too
PAUSE_NS = 30_000_000_000  # between two dumps: events come in swarms
NEVER = 1 << 63


class FlightMemory:
    """The output of a recorder that writes only when an event fires."""

    def __init__(self, workshop: Workshop, seconds: float) -> None:
        self.seconds = seconds
        self._parent = workshop.folder
        self._labels = workshop.labels
        self._writer = workshop.writer
        self._profiler = workshop.profiler
        self._closing = Closing(workshop)
        self._ring: deque[tuple[int, bytes]] = deque()
        self._anchor: Anchor | None = None
        self._due_ns = NEVER
        self._earliest_ns = 0

    def begin(self, moment: Moment, anchor: Anchor) -> None:
        """Keep the first moment."""
        # What is counted since the last reading is added by itself, where it belongs to this recording.
        totals = {name: reading for name, reading in moment.readings.items() if name not in SINCE_LAST}
        self.take(Moment(moment.time_ns, totals, moment.cost_ns), (), anchor, stepped=False)

    def wants_everything(self) -> bool:
        """Slow sources come at their own pace: no segment has a known beginning."""
        return False

    def take(self, moment: Moment, events: Sequence[Event], anchor: Anchor, *, stepped: bool) -> None:
        """Keep a moment, forget those that are too old, and dump when it is time."""
        if stepped:  # times before and after cannot stand in one segment
            self._ring.clear()
        self._anchor = anchor
        self._keep(moment, events, anchor_frame(anchor))
        while self._ring[-1][0] - self._ring[0][0] > self.seconds * 1e9:
            self._ring.popleft()
        if moment.time_ns >= max(self._due_ns, self._earliest_ns):
            self._dump(moment.time_ns)

    def take_last(self, moment: Moment, events: Sequence[Event], anchor: Anchor) -> None:
        """Keep a moment as any other."""
        self.take(moment, events, anchor, stepped=False)

    def add(self, moment: Moment, events: Sequence[Event]) -> None:
        """Keep what one source said between two moments."""
        self._keep(moment, events, b"")

    def tick(self) -> Sequence[Event]:
        """See to the samples and to the sealing."""
        events = self._profiler.tick() if self._profiler else ()
        self._closing.tick()
        return events

    def stop(self) -> Sequence[Event]:
        """Dump what an event still waits for, and end the capture."""
        if self._due_ns < NEVER:
            self._dump(time.monotonic_ns())
        return self._profiler.stop() if self._profiler else ()

    def finish(self, events: Sequence[Event]) -> None:
        """Wait until the dumps are sealed; nothing else is written."""
        self._closing.finish()

    def _keep(self, moment: Moment, events: Sequence[Event], anchor: bytes) -> None:
        frames = b"".join([anchor, moment_frame(moment), *(event_frame(event) for event in events)])
        self._ring.append((moment.time_ns, frames))
        if self._due_ns == NEVER and any(event.kind in TRIGGERS for event in events):
            self._due_ns = moment.time_ns + AFTER_NS

    def _dump(self, now_ns: int) -> None:
        # No longer than the memory is: an event that waits must not be forgotten meanwhile.
        self._due_ns, self._earliest_ns = NEVER, now_ns + min(PAUSE_NS, int(self.seconds * 1e9) // 2)
        if not self._ring or not self._anchor:
            return
        begin_ns = self._ring[0][0]
        folder = make_folder(self._parent, begin_ns + self._anchor.offset_ns)
        if self._profiler:
            self._profiler.begin_segment(folder)
        self._writer.begin(folder, open_description(self._labels, begin_ns, self._anchor))
        self._writer.append(layout_frame())
        self._writer.append(b"".join(frames for _, frames in self._ring))
        self._writer.append(end_frame(End(now_ns, "event")))
        self._writer.end(folder)
        self._closing.add(folder)
        self._ring.clear()
