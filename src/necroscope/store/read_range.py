"""A stretch of recorded time across segments, as if it were one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from necroscope.errors import NecroscopeError
from necroscope.model.time_range import TimeRange
from necroscope.sources.catalog import SOURCES
from necroscope.sources.source import Source
from necroscope.store.clock import STEP_NS, Anchor
from necroscope.store.counters import read_counters
from necroscope.store.journal import journal_bytes, read_journal
from necroscope.store.seal import COUNTERS
from necroscope.store.segment import Moment, Segment
from necroscope.store.store import Damage, StoredSegment, sealed_meanwhile

MARGIN_NS = 2 * 10**9  # a rate at the very beginning needs the moment before


def read_stretch(
    segments: Sequence[StoredSegment],
    wanted: TimeRange,
    sources: Sequence[Source[Any]] = SOURCES,
    damaged: list[Damage] | None = None,
) -> list[Segment]:
    """What was recorded in a range of time: one segment for every stretch on one clock.

    Segments that cannot be read are added to `damaged`; without it they are an error.
    """
    stretches: list[tuple[StoredSegment, list[Moment]]] = []
    wide = wanted.widened(MARGIN_NS)
    for stored in segments:
        if not stored.overlaps(wide):
            continue
        moments = [
            moment
            for moment in _read_or_note(stored, sources, damaged)
            if wide.contains(moment.time_ns + stored.offset_ns)
        ]
        if stretches and _is_same_clock(stretches[-1][0], stored):
            # The last moment of a segment is also the first of the next.
            last_ns = stretches[-1][1][-1].time_ns if stretches[-1][1] else 0
            stretches[-1][1].extend(moment for moment in moments if moment.time_ns > last_ns)
        elif moments:
            stretches.append((stored, moments))
    return [
        Segment(stored.description.host, Anchor(0, stored.offset_ns), tuple(moments))
        for stored, moments in stretches
    ]


def _read_or_note(
    stored: StoredSegment, sources: Sequence[Source[Any]], damaged: list[Damage] | None
) -> list[Moment]:
    try:
        return read_moments(stored, sources)
    except NecroscopeError as error:
        if damaged is None:
            raise
        damaged.append(Damage(stored.folder, error))
        return []


def read_moments(stored: StoredSegment, sources: Sequence[Source[Any]] = SOURCES) -> list[Moment]:
    """The moments of one segment; an imported capture has none."""
    if stored.is_open:
        wanted = {source.id for source in sources}
        try:
            moments = read_journal(journal_bytes(stored.folder)).moments
        except FileNotFoundError:
            sealed = sealed_meanwhile(stored)
            return read_moments(sealed, sources) if sealed else []
        return [
            Moment(moment.time_ns, found, moment.cost_ns)
            for moment in moments
            if (found := {name: r for name, r in moment.readings.items() if name in wanted})
        ]
    if not (stored.folder / COUNTERS).exists():
        return []
    return read_counters(stored.folder / COUNTERS, sources)


def _is_same_clock(one: StoredSegment, other: StoredSegment) -> bool:
    """Whether times of both stand to UTC in the same way; a step is more than the anchors' own error."""
    same_host = (one.host, one.boot_id) == (other.host, other.boot_id)
    return same_host and bool(one.boot_id) and abs(one.offset_ns - other.offset_ns) < STEP_NS
