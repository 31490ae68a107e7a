"""What a recorded range says of zombies at its end: the counts and the ledger, and what led there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from necroscope.diagnosis.zombies.zombie_report import Seen
from necroscope.errors import NothingRecordedError, StoreError
from necroscope.model.reading import Absence, Reading
from necroscope.model.time_range import TimeRange
from necroscope.signals.cgroup_counts import Count, counts_of, rate_ns, recorded_counts
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, Leak
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.reclaim import RECLAIM
from necroscope.store.read_range import read_moments
from necroscope.store.segment import Moment
from necroscope.store.store import StoredSegment

NOT_RECORDED: Reading[CgroupLedger] = Reading(
    absence=Absence.SWITCHED_OFF, detail="no ledger was recorded there"
)


@dataclass(frozen=True, slots=True)
class LedgerSeen:
    """A ledger and when it was read, on the clock of its boot."""

    time_ns: int
    reading: Reading[CgroupLedger]


def last_boot_in(segments: Sequence[StoredSegment], wanted: TimeRange) -> list[StoredSegment]:
    """The segments of a range (UTC) that are of its last boot: counts begin anew with each."""
    inside = [s for s in segments if s.overlaps(wanted)]
    return [s for s in inside if s.boot_id == inside[-1].boot_id]


def recorded_seen(
    stored: Sequence[StoredSegment],
    wanted: TimeRange,
    thresholds: Thresholds,
    read: Callable[[StoredSegment], list[Count]] = counts_of,
) -> Seen:
    """What segments of one boot have of a range (UTC); no leaks by name, and no samples.

    NothingRecordedError where there are no counts.
    """
    long = recorded_counts(stored, wanted, read)
    segment = stored[-1]
    moments = [
        moment
        for one in stored[-2:]
        for moment in read_moments(one, (MEMORY_CGROUPS, CGROUP_LEDGER, RECLAIM))
        if moment.time_ns < wanted.end_ns - segment.offset_ns
    ]
    counts = _last(moments, MEMORY_CGROUPS.id)
    if not long or not counts or not counts[1].value:
        raise NothingRecordedError(f"no counts of memory cgroups of {segment.host} are recorded there")
    ledger, memory = _last(moments, CGROUP_LEDGER.id), _last(moments, RECLAIM.id)
    found = LedgerSeen(*ledger) if ledger else LedgerSeen(counts[0], NOT_RECORDED)
    return Seen(
        labels=segment.description.host,
        time_ns=counts[0] + segment.offset_ns,
        counts=counts[1].value,
        long_series=long,
        recent_series=recorded_counts(stored, TimeRange(wanted.end_ns - rate_ns(thresholds), wanted.end_ns)),
        ledger=found.reading,
        ledger_time_ns=found.time_ns,
        leaks=None,
        memory_total_bytes=memory[1].value.total_bytes if memory and memory[1].value else None,
    )


def recorded_leaks(segments: Sequence[StoredSegment], ledger: LedgerSeen) -> list[Leak]:
    """The zombies that a ledger has named until it was read, without those that were freed since."""
    if ledger.reading.value is None:
        return []
    left: dict[int, Leak] = {}
    for segment in segments:
        if segment.end_ns - segment.offset_ns < ledger.reading.value.began_ns:
            continue
        with suppress(StoreError):
            for moment in read_moments(segment, (CGROUP_LEDGER,)):
                value = moment.readings[CGROUP_LEDGER.id].value
                if (
                    value
                    and value.began_ns == ledger.reading.value.began_ns
                    and moment.time_ns <= ledger.time_ns
                ):
                    add_leaks(left, value)
    return list(left.values())


def add_leaks(left: dict[int, Leak], ledger: CgroupLedger) -> None:
    """Add the zombies that a ledger names, and take out those that it says are gone."""
    left.update((leak.id, leak) for leak in ledger.leaks)
    for id in ledger.freed:
        left.pop(id, None)


def _last(moments: Iterable[Moment], source: str) -> tuple[int, Reading[Any]] | None:
    found = None
    for moment in moments:
        if source in moment.readings:
            found = moment.time_ns, moment.readings[source]
    return found
