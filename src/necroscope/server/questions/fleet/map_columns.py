"""The columns of a map of the fleet: whole hours, at multiples of their length."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.timestamp import HOUR_US

STEP_HOURS = (1, 2, 3, 4, 6, 8, 12)


@dataclass(frozen=True, slots=True)
class MapColumns:
    """They begin at or before the range, and end at or after it."""

    begin_us: int
    step_us: int
    count: int

    def of(self, time_us: int) -> int:
        """The column of a time of the range."""
        return (time_us - self.begin_us) // self.step_us


def choose_columns(begin_us: int, end_us: int, most: int) -> MapColumns:
    """The shortest hours that need no more columns than that; else days."""
    for hours in STEP_HOURS:
        columns = _columns(begin_us, end_us, hours)
        if columns.count <= most:
            return columns
    days = 1
    while _columns(begin_us, end_us, 24 * days).count > max(most, 2):
        days += 1
    return _columns(begin_us, end_us, 24 * days)


def _columns(begin_us: int, end_us: int, hours: int) -> MapColumns:
    step_us = hours * HOUR_US
    first = begin_us // step_us
    return MapColumns(first * step_us, step_us, -(-end_us // step_us) - first)
