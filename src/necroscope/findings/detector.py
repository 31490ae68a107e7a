"""How a detector is declared, what it may look at, and what it could not."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from necroscope.model.event import Event
from necroscope.model.finding import Finding
from necroscope.model.inventory import Inventory
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.source import Source
from necroscope.store.segment import Segment


@dataclass(frozen=True, slots=True)
class Case:
    """What a detector looks at: a segment, the events found in it, and the thresholds in force."""

    segment: Segment
    events: tuple[Event, ...]
    thresholds: Thresholds
    userspace_lines: tuple[Event, ...] = ()  # what lines of programs say, which nobody trusts: no evidence

    def limit(self, name: str) -> float:
        """The value of a threshold by its full name, `detector.threshold`."""
        return self.thresholds[name]

    def recent_events(self, *kinds: str, hours: float) -> list[Event]:
        """The events of some kinds that are not too old. Those of a recorded tree have no age."""
        recent = self._not_older(self.events, hours)
        return [event for event in recent if event.kind in kinds]

    def recent_userspace_lines(self, hours: float) -> list[Event]:
        """What programs wrote to the kernel log and nobody trusts, if it is not too old."""
        return self._not_older(self.userspace_lines, hours)

    def _not_older(self, events: Iterable[Event], hours: float) -> list[Event]:
        oldest_ns = self.segment.end_ns - int(hours * 3600e9) if self.segment.is_live else 0
        return [event for event in events if event.time_ns >= oldest_ns]


Look = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of trouble: its public name, the function that looks, and the sources it looks at."""

    id: str
    look: Look
    needs: tuple[Source[Any], ...]  # without any of these it cannot look
    uses: tuple[Source[Any], ...]  # with these it sees more
    readings_needed: int  # 2: it compares moments, 1: one is enough
    any_suffices: bool  # one of what it needs is enough to look
    seconds_needed: str  # the threshold that says how long it must look at least; empty: no matter

    @property
    def doc(self) -> str:
        """The manual page that `explain` prints."""
        return inspect.getdoc(self.look) or ""


def detector(  # noqa: PLR0913 - a declaration: all but the id are named where it is used
    id: str,
    *,
    needs: tuple[Source[Any], ...],
    uses: tuple[Source[Any], ...] = (),
    readings_needed: int = 2,
    any_suffices: bool = False,
    seconds_needed: str = "",
) -> Callable[[Look], Detector]:
    """Declare a function as a detector. Its docstring is its manual page."""

    def declare(look: Look) -> Detector:
        return Detector(id, look, needs, uses, readings_needed, any_suffices, seconds_needed)

    return declare


LookAtUnits = Callable[[Inventory], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class UnitDetector:
    """One kind of trouble with units: its public name, and the function that looks at an inventory."""

    id: str
    look: LookAtUnits

    @property
    def doc(self) -> str:
        """The manual page that `explain` prints."""
        return inspect.getdoc(self.look) or ""


def unit_detector(id: str) -> Callable[[LookAtUnits], UnitDetector]:
    """Declare a function as a detector that judges the units of a machine or an image."""
    return lambda look: UnitDetector(id, look)
