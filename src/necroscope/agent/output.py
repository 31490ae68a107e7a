"""What the recorder hands its moments to, and what it expects of a profiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from necroscope.agent.sealer import Sealer
from necroscope.agent.writer import Writer
from necroscope.model.event import Event
from necroscope.model.labels import Labels
from necroscope.store.clock import Anchor
from necroscope.store.segment import Moment


class Output(Protocol):
    """Where a recording goes: segments on disk, or memory until something happens."""

    seconds: float  # the length of a segment

    def begin(self, moment: Moment, anchor: Anchor) -> None:
        """The first moment, which has all sources."""

    def wants_everything(self) -> bool:
        """Whether the next moment should hold all sources, because a segment may begin with it."""

    def take(self, moment: Moment, events: Sequence[Event], anchor: Anchor, *, stepped: bool) -> None:
        """A moment and what happened in it. `stepped`: the wall clock was set just before."""

    def take_last(self, moment: Moment, events: Sequence[Event], anchor: Anchor) -> None:
        """The moment after which nothing comes: no segment begins with it."""

    def add(self, moment: Moment, events: Sequence[Event]) -> None:
        """A source that had something to say between two moments."""

    def tick(self) -> Sequence[Event]:
        """Once a second: what happened to the recording itself."""

    def stop(self) -> Sequence[Event]:
        """The last moment has been taken: end the capture; what is left to be said of it."""

    def finish(self, events: Sequence[Event]) -> None:
        """Write the last events, and wait until all is sealed."""


class Profiler(Protocol):
    """Samples that go with the segments."""

    wants_new_segment: bool  # a capture of its own begins, and a segment has one only

    def begin_segment(self, folder: Path) -> int | None:
        """Samples belong to this folder from now on; the moment of change where two captures overlap."""

    def tick(self) -> Sequence[Event]:
        """Once a second: holes that were closed."""

    def is_done_with(self, folder: Path) -> bool:
        """Whether all samples of a segment that ended are in its folder."""

    def stop(self) -> Sequence[Event]:
        """End the capture and keep what it has; the hole that is still open."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What segments are made with: where they go, what they are of, and who does the work."""

    folder: Path
    labels: Labels
    writer: Writer
    sealer: Sealer
    profiler: Profiler | None
