"""Samples over time: the subsecond-offset heatmap, and cores over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from necroscope import _native
from necroscope.profiles.window import Selection, opened, touched
from necroscope.recording.store import StoredSegment

SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Counts in cells; `cells[column * rows + row]`. The first row is the earliest, or core 0."""

    begin_ns: int  # UTC, of the first column
    step_ns: int  # a column
    columns: int
    rows: int
    cells: tuple[int, ...]

    @property
    def most(self) -> int:
        """The largest count."""
        return max(self.cells, default=0)

    def at(self, column: int, row: int) -> int:
        """The count of one cell."""
        return self.cells[column * self.rows + row]


def subsecond(segments: Sequence[StoredSegment], selection: Selection, rows: int = 50) -> Heatmap:
    """One column a second from the selection's beginning, one row a fraction of it."""
    return _sum(segments, selection, SECOND_NS, lambda profile, query: profile.subsecond(query, rows))


def cores(segments: Sequence[StoredSegment], selection: Selection, step_ns: int = SECOND_NS) -> Heatmap:
    """One column a step of time from the selection's beginning, one row a core."""
    return _sum(segments, selection, step_ns, lambda profile, query: profile.cores(query, step_ns))


Bin = Callable[[_native.Profile, _native.Query], tuple[int, int, list[int]]]


def _sum(segments: Sequence[StoredSegment], selection: Selection, step_ns: int, bins: Bin) -> Heatmap:
    maps = []
    for segment in touched(segments, selection):
        with opened(segment) as profile:
            maps.append(bins(profile, selection.query(segment)))
    columns = max((columns for columns, _, _ in maps), default=0)
    rows = max((rows for _, rows, _ in maps), default=0)
    if len(maps) == 1:
        return Heatmap(selection.begin_ns, step_ns, columns, rows, tuple(maps[0][2]))
    cells = [0] * (columns * rows)
    for _, own_rows, own in maps:
        for index, count in enumerate(own):
            cells[index // own_rows * rows + index % own_rows] += count
    return Heatmap(selection.begin_ns, step_ns, columns, rows, tuple(cells))
