"""Samples over time: the subsecond-offset heatmap, and cores over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from necroscope import _native
from necroscope.errors import UsageError
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.window import Selection, opened, touched
from necroscope.store.store import StoredSegment

MOST_COLUMNS = 86_400  # a day of seconds


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
    columns = -(-(selection.end_ns - selection.begin_ns) // step_ns)
    if columns > MOST_COLUMNS:
        hint = "-b and -e choose a shorter one"
        raise UsageError(
            f"a heatmap has at most {MOST_COLUMNS:,} columns, and the range {columns:,}", hint=hint
        )
    parts = [_part(segment, selection, step_ns, bins) for segment in touched(segments, selection)]
    rows = max((part.rows for part in parts), default=0)
    cells = [0] * (columns * rows)
    for part in parts:
        begin = part.first * rows
        if part.rows == rows and not any(cells[begin : begin + len(part.cells)]):
            cells[begin : begin + len(part.cells)] = part.cells  # nothing there yet, which is the rule
            continue
        for index, count in enumerate(part.cells):
            cells[begin + index // part.rows * rows + index % part.rows] += count
    return Heatmap(selection.begin_ns, step_ns, columns, rows, tuple(cells))


@dataclass(frozen=True, slots=True)
class _Part:
    """The cells of one segment, from the first column that it reaches."""

    first: int
    columns: int
    rows: int
    cells: Sequence[int]


def _part(segment: StoredSegment, selection: Selection, step_ns: int, bins: Bin) -> _Part:
    """Only the columns that a segment can have anything in: an hour has thirty segments."""
    begin_ns, _ = selection.range_in(segment)
    own_begin_ns, own_end_ns = segment.begin_ns - segment.offset_ns, segment.end_ns - segment.offset_ns
    first = max(own_begin_ns - begin_ns, 0) // step_ns
    last = max(own_end_ns - begin_ns, 0) // step_ns + 1
    cut = replace(
        selection,
        begin_ns=selection.begin_ns + first * step_ns,
        end_ns=min(selection.end_ns, selection.begin_ns + last * step_ns),
    )
    with opened(segment) as profile:
        return _Part(first, *bins(profile, cut.query(segment)))
