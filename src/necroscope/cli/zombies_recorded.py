"""What `zombies` reads of a recorded range: the counts and the ledger at its end, and what led there."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from necroscope.cli.selecting import choose_range
from necroscope.diagnosis.zombies.recorded_counts import recorded_counts
from necroscope.diagnosis.zombies.walk_time import walk_time
from necroscope.diagnosis.zombies.zombie_report import Seen
from necroscope.errors import NecroscopeError, NothingRecordedError, StoreError
from necroscope.model.labels import Labels
from necroscope.model.reading import Absence, Reading
from necroscope.recording.segment import Moment
from necroscope.recording.store import Store, StoredSegment, read_segment
from necroscope.recording.stretch import labels_of, read_moments
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, Leak
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.reclaim import RECLAIM

SECOND_NS = 10**9
RECENT_NS = 600 * SECOND_NS
LONG_NS = 24 * 3600 * SECOND_NS
NOT_RECORDED: Reading[CgroupLedger] = Reading(
    absence=Absence.SWITCHED_OFF, detail="no ledger was recorded there"
)


@dataclass(frozen=True, slots=True)
class LedgerSeen:
    """A ledger and when it was read, on the clock of its boot."""

    time_ns: int
    reading: Reading[CgroupLedger]


def look_back(arguments: argparse.Namespace) -> Seen:
    """The end of a recorded range, of any host in the store."""
    chosen = choose_range(arguments)
    begin_ns = chosen.begin_ns if arguments.begin else chosen.end_ns - LONG_NS
    inside = [s for s in chosen.segments if s.begin_ns < chosen.end_ns and s.end_ns >= begin_ns]
    stored = [s for s in inside if s.boot_id == inside[-1].boot_id]
    long = recorded_counts(stored, begin_ns, chosen.end_ns)
    if not long:
        raise NothingRecordedError(f"no counts of memory cgroups of {chosen.host} are recorded there")
    segment = stored[-1]
    end_ns = chosen.end_ns - segment.offset_ns
    moments = [
        moment
        for one in stored[-2:]
        for moment in read_moments(one, (MEMORY_CGROUPS, CGROUP_LEDGER, RECLAIM))
        if moment.time_ns < end_ns
    ]
    counts = _last(moments, MEMORY_CGROUPS.id)
    ledger = _last(moments, CGROUP_LEDGER.id)
    if not counts or not counts[1].value:
        raise NothingRecordedError(f"no counts of memory cgroups of {chosen.host} are recorded there")
    memory = _last(moments, RECLAIM.id)
    found = LedgerSeen(*ledger) if ledger else LedgerSeen(counts[0], NOT_RECORDED)
    return Seen(
        labels=labels_of(segment),
        time_ns=counts[0] + segment.offset_ns,
        counts=counts[1].value,
        long_series=long,
        recent_series=recorded_counts(stored, chosen.end_ns - RECENT_NS, chosen.end_ns),
        ledger=found.reading,
        ledger_time_ns=found.time_ns,
        leaks=recorded_leaks(stored, found) if arguments.list else None,
        walks=walk_time(stored, begin_ns, chosen.end_ns),
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


def newest_segments(store: Path | None, labels: Labels, most: int = 2) -> list[StoredSegment]:
    """The last segments of this boot: much cheaper than to list all."""
    if store is None or not labels.boot_id:
        return []
    found = []
    with suppress(OSError):
        folder = Store(store).host_folder(labels.hostname)
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
        for name in names[-most:]:
            with suppress(NecroscopeError):
                found.append(read_segment(folder / name))
    return [segment for segment in found if segment.boot_id == labels.boot_id]


def add_leaks(left: dict[int, Leak], ledger: CgroupLedger) -> None:
    left.update((leak.id, leak) for leak in ledger.leaks)
    for id in ledger.freed:
        left.pop(id, None)


def _last(moments: Iterable[Moment], source: str) -> tuple[int, Reading[Any]] | None:
    found = None
    for moment in moments:
        if source in moment.readings:
            found = moment.time_ns, moment.readings[source]
    return found
