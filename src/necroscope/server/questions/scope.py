"""When in each second of a range there were samples, and which of them a search finds."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

from necroscope.profiles.scope import scope
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import (
    LONGEST_SECONDS,
    US_NS,
    Filters,
    Range,
    asked_selection,
    require_profile,
)
from necroscope.store.store import Damage


@dataclass(frozen=True, slots=True)
class Named:
    """A core, a process or a thread, and its samples."""

    name: str
    samples: int


@dataclass(frozen=True, slots=True)
class Scope:
    """A subsecond-offset heatmap: counts are u16 in base64, column by column, the earliest row first."""

    begin_us: int
    columns: int  # seconds
    rows: int  # parts of a second
    counts: str  # at most 65,535 a cell
    matched: str | None  # samples that match the search; None without one
    most: int  # in the fullest cell
    samples: int
    idle: int
    unknown: int
    lost: int | None
    recorded_us: list[tuple[int, int]]  # from when to when samples were taken, whichever were asked for
    cpus: list[Named]
    processes: list[Named]
    threads: list[Named]
    damaged: list[Damaged]


def ask_scope(store: RecordedStore, span: Range, filters: Filters, rows: int) -> Scope:
    """The subsecond-offset heatmap. Without any sample that passes the filters its cells are all empty."""
    span.require_at_most(LONGEST_SECONDS, "a heatmap of samples")
    damaged: list[Damage] = []
    selection = asked_selection(span, filters)
    segments = store.segments_of(span.host)
    require_profile(segments, selection)
    found, _ = skip_unreadable(lambda some: scope(some, selection, rows), segments, selection, damaged)
    return Scope(
        begin_us=found.begin_ns // US_NS,
        columns=found.columns,
        rows=found.rows,
        counts=b64encode(found.counts).decode(),
        matched=None if found.matched is None else b64encode(found.matched).decode(),
        most=found.most,
        samples=found.samples,
        idle=found.idle,
        unknown=found.unknown,
        lost=found.lost,
        recorded_us=[(begin_ns // US_NS, end_ns // US_NS) for begin_ns, end_ns in found.recorded_ns],
        cpus=[Named(str(cpu), count) for cpu, count in found.cpus if cpu >= 0],
        processes=[Named(*named) for named in found.processes],
        threads=[Named(*named) for named in found.threads],
        damaged=store.damaged_in(span, damaged),
    )
