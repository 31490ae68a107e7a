"""A range of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range `begin_ns <= time < end_ns`, in UTC if nothing else is said."""

    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """How long it is."""
        return (self.end_ns - self.begin_ns) / 1e9

    def contains(self, time_ns: int) -> bool:
        """Return whether a time is in the range."""
        return self.begin_ns <= time_ns < self.end_ns

    def overlaps(self, first_ns: int, last_ns: int) -> bool:
        """Return whether a part of what was read between two times, both included, can be in the range."""
        return first_ns < self.end_ns and last_ns >= self.begin_ns

    def widened(self, margin_ns: int) -> Self:
        """Return the same with a margin on both sides."""
        return replace(self, begin_ns=self.begin_ns - margin_ns, end_ns=self.end_ns + margin_ns)


def merged(ranges: Iterable[TimeRange], seam_ns: int = 0) -> list[TimeRange]:
    """Return ranges in order and apart: those that overlap, or follow within a seam, as one."""
    found: list[TimeRange] = []
    for one in sorted(ranges, key=lambda one: one.begin_ns):
        if found and one.begin_ns - found[-1].end_ns <= seam_ns:
            found[-1] = TimeRange(found[-1].begin_ns, max(found[-1].end_ns, one.end_ns))
        else:
            found.append(TimeRange(one.begin_ns, one.end_ns))
    return found
