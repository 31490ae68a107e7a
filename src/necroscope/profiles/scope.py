"""The subsecond-offset heatmap with what a search finds in it, and who the samples are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope import _native
from necroscope.errors import UsageError
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.window import Selection, add_lost, opened, touched
from necroscope.store.store import StoredSegment

MOST_CELLS = 86_400 * 50  # a day of seconds in fifty rows
MOST_NAMES = 100

Named = tuple[str, int]  # a name and its samples
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scope:
    """Samples by second, a column each, and fraction of a second, a row each.

    Cores, processes and threads are those that could be chosen: each as if it were not filtered by them,
    while the other filters hold.
    """

    begin_ns: int  # UTC, of the first column
    columns: int
    rows: int
    counts: bytes  # of cells, column by column, the earliest row first: 16 bits each, little-endian
    matched: bytes | None  # those that the search matches; None without one
    most: int  # samples of a cell
    samples: int
    idle: int
    unknown: int  # innermost frame without a name
    lost: int | None  # None: the files do not say
    recorded_ns: list[Span]  # from when to when samples were taken, UTC
    cpus: list[tuple[int, int]]  # number, -1 where unknown, and samples
    processes: list[Named]  # most first
    threads: list[Named]


def scope(segments: Sequence[StoredSegment], selection: Selection, rows: int = 50) -> Scope:
    """One column a second from the selection's beginning, across segments."""
    columns = max(-(-(selection.end_ns - selection.begin_ns) // SECOND_NS), 0)
    if columns * rows > MOST_CELLS:
        hint = f"at most {MOST_CELLS // rows:,} seconds have so many rows"
        raise UsageError(f"a heatmap of {columns:,} seconds and {rows} rows is too large", hint=hint)
    cells = _native.Scope(columns, rows)
    lost: int | None = 0
    looked_at = touched(segments, selection)
    for segment in looked_at:
        with opened(segment) as profile:
            cells.add(profile, selection.query(segment), selection.range_in(segment)[0])
        lost = add_lost(lost, segment.description.profile.lost)
    samples, idle, unknown = cells.totals
    return Scope(
        begin_ns=selection.begin_ns,
        columns=columns,
        rows=rows,
        counts=cells.counts,
        # Without any segment, nothing was matched all the same.
        matched=(cells.matched or bytes(2 * columns * rows)) if selection.search else None,
        most=cells.most,
        samples=samples,
        idle=idle,
        unknown=unknown,
        lost=lost,
        recorded_ns=_recorded(looked_at, selection),
        cpus=cells.cpus,
        processes=cells.processes(MOST_NAMES),
        threads=cells.threads(MOST_NAMES),
    )


def _recorded(segments: Sequence[StoredSegment], selection: Selection) -> list[Span]:
    """The parts of a selection that segments cover; what lies less than a second apart is one."""
    spans: list[Span] = []
    for segment in sorted(segments, key=lambda one: one.begin_ns):
        begin_ns = max(segment.begin_ns, selection.begin_ns)
        end_ns = min(segment.end_ns, selection.end_ns)
        if spans and begin_ns - spans[-1][1] < SECOND_NS:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end_ns))
        else:
            spans.append((begin_ns, end_ns))
    return spans
