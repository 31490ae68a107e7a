"""Automatic restarts of services, from the counts of systemd (NRestarts).

The only place that subtracts them. A count that is lower than before was set back, by a start by hand or
`reset-failed`, and counts from 0; so does that of a unit that was inactive before and was not listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.sources.units import UNITS, Unit, Units
from necroscope.store.segment import Moment, Segment, Timed


@dataclass(frozen=True, slots=True)
class Restarts:
    """How often systemd restarted a unit between two readings."""

    unit: Unit  # at the second reading
    begin_ns: int
    end_ns: int
    count: int


@dataclass(slots=True)
class UnitRestarts:
    """A fold over samples: `feed` returns the restarts since the reading before."""

    _before: Timed[Units] | None = None

    def feed(self, moment: Moment) -> list[Restarts]:
        """Take in the next sample; return a row for every unit that systemd counts, also with 0 restarts."""
        units = moment.value(UNITS)
        if units is None:
            return []
        before, self._before = self._before, Timed(moment.time_ns, units)
        if before is None:
            return []
        counts = restarts_between(before.value, units)
        return [
            Restarts(unit, before.time_ns, moment.time_ns, counts[unit.name])
            for unit in units
            if unit.name in counts
        ]


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


def restarts_between(before: Units, after: Units) -> dict[str, int]:
    """Return the restarts of each unit of the second reading; old versions of systemd do not count them."""
    known = {unit.name: unit.restarts for unit in before}
    rises = {}
    for unit in after:
        last = known.get(unit.name, 0)
        if unit.restarts is not None and last is not None:
            rises[unit.name] = unit.restarts - last if unit.restarts >= last else unit.restarts
    return rises
