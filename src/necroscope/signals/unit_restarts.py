"""Automatic restarts of services, from the counts of systemd (NRestarts).

The only place that subtracts them. A count that is lower than before was set back, by a start by hand or
`reset-failed`, and counts from 0; so does that of a unit that was inactive before and was not listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.model.time_range import TimeRange
from necroscope.signals.counter_steps import Steps, rise_since_start
from necroscope.sources.units import UNITS, Unit, Units
from necroscope.store.segment import Moment, Segment, Step


@dataclass(frozen=True, slots=True)
class Restarts(TimeRange):
    """How often systemd restarted a unit between two readings."""

    unit: Unit  # at the second reading
    count: int


@dataclass(slots=True)
class UnitRestarts:
    """A fold over samples."""

    _steps: Steps[Units] = field(default_factory=lambda: Steps(UNITS))

    def feed(self, moment: Moment) -> list[Restarts]:
        """Return the restarts since the last reading, of every unit that systemd counts, also 0 of them."""
        return list(restarts_in(step)) if (step := self._steps.feed(moment)) else []


def over(segment: Segment) -> Iterator[Restarts]:
    """Return the restarts of all units in a segment, reading by reading."""
    restarts = UnitRestarts()
    for moment in segment.moments:
        yield from restarts.feed(moment)


def count_restarts(segment: Segment) -> dict[str, int]:
    """Return how often each unit was restarted in a segment. A unit that is not in it was not counted."""
    counts: Counter[str] = Counter()
    for restarts in over(segment):
        counts[restarts.unit.name] += restarts.count
    return dict(counts)


def restarts_in(step: Step[Units]) -> Iterator[Restarts]:
    """Return the restarts of each unit of the second reading; old versions of systemd do not count them."""
    known = {unit.name: unit.restarts for unit in step.before.value}
    for unit in step.after.value:
        last = known.get(unit.name, 0)
        if unit.restarts is not None and last is not None:
            count = rise_since_start(last, unit.restarts)
            yield Restarts(step.before.time_ns, step.after.time_ns, unit, count)
