"""A sealed segment, read as a whole: what the soak has to know of it when it is gone.

A soak has a small budget, so that old segments are removed while it goes on. Each is read once it is sealed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lab.faults.churn import comm_of
from necroscope import _native
from necroscope.model.event import Event
from necroscope.model.timestamp import SECOND_NS
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.processes import PROCESSES
from necroscope.store.clock import Anchor
from necroscope.store.read_range import read_moments
from necroscope.store.segment import Segment
from necroscope.store.store import StoredSegment
from necroscope.store.stored_events import read_events

MARK = "necroscope mark: "
CLOCK_EVENTS = ["cpu-clock", "cycles"]  # of perf, whichever this machine has

Marks = tuple[tuple[int, int], ...]  # number and time


@dataclass(frozen=True, slots=True)
class CgroupCounts:
    """Cgroups of one kind in the ledger, since it began."""

    made: int
    removed: int
    released: int
    dying: int


@dataclass(frozen=True, slots=True)
class LedgerCounts:
    """The cgroups of the churn in the ledger."""

    clean: CgroupCounts
    leaked: CgroupCounts
    lost: int  # events


@dataclass(frozen=True, slots=True)
class Digest:
    """What one segment holds. Times are by CLOCK_MONOTONIC."""

    name: str
    size_bytes: int
    ended: str
    damaged: tuple[str, ...]  # files that are not as they were sealed
    moments_ns: tuple[int, ...]  # at which the cores were read
    cores_missing: int  # moments without one of them
    line_marks: Marks  # as lines of the kernel log, in the order of the recording
    event_marks: Marks  # as events
    lines_lost: int
    clock_steps: tuple[int, ...]  # seconds
    capture_gaps: tuple[str, ...]
    ledger: LedgerCounts | None  # at its end
    leaks: tuple[str, ...]  # paths of what became a zombie
    children_ticks: int  # CPU time of processes that the churn has waited for
    samples: dict[tuple[int, int], int]  # by whole second and core
    samples_lost: int


def digest(stored: StoredSegment, run: str, churn_pid: int, cores: frozenset[int]) -> Digest:
    """Read all of a segment; what cannot be read is an error."""
    segment = Segment(stored.description.host, Anchor(0, stored.offset_ns), tuple(read_moments(stored)))
    events = [one.event for one in read_events(stored)]
    core_times = list(segment.series(CORES))
    logs = [log.value for log in segment.series(KERNEL_LOG)]
    ledgers = [ledger.value for ledger in segment.series(CGROUP_LEDGER)]
    ended = [one for processes in segment.series(PROCESSES) for one in processes.value.ended]
    comm = comm_of(churn_pid)
    return Digest(
        name=stored.folder.name,
        size_bytes=sum(file.stat().st_size for file in stored.folder.rglob("*") if file.is_file()),
        ended=stored.description.ended,
        damaged=tuple(_damaged(stored)),
        moments_ns=tuple(moment.time_ns for moment in core_times),
        cores_missing=sum(1 for moment in core_times if cores - {row.core for row in moment.value}),
        line_marks=_marks(((line.text, line.time_ns) for log in logs for line in log.lines), run),
        event_marks=_marks(((event.text, event.time_ns) for event in _of(events, "user-mark")), run),
        lines_lost=sum(log.lost for log in logs),
        clock_steps=tuple(round(event.seconds or 0) for event in _of(events, "clock-step")),
        capture_gaps=tuple(event.text for event in _of(events, "capture-gap")),
        ledger=_counts(ledgers[-1], comm) if ledgers else None,
        leaks=tuple(leak.path for ledger in ledgers for leak in ledger.leaks if leak.creator == comm),
        children_ticks=sum(one.ticks for one in ended if one.pid == churn_pid),
        samples=_samples(stored),
        samples_lost=stored.description.profile.lost or 0,
    )


def _of(events: Iterable[Event], kind: str) -> Iterator[Event]:
    return (event for event in events if event.kind == kind)


def _marks(texts: Iterable[tuple[str, int]], run: str) -> Marks:
    """Those of one churn, by their number."""
    begin = f"{MARK}{run} "
    return tuple((int(text.removeprefix(begin)), at_ns) for text, at_ns in texts if text.startswith(begin))


def _counts(ledger: CgroupLedger, comm: str) -> LedgerCounts:
    own = [group for group in ledger.groups if group.creator == comm]
    return LedgerCounts(
        _sum([group for group in own if "/clean-" in group.pattern]),
        _sum([group for group in own if "/leak-" in group.pattern]),
        ledger.lost,
    )


def _sum(groups: list[LedgerGroup]) -> CgroupCounts:
    return CgroupCounts(
        sum(group.made for group in groups),
        sum(group.removed for group in groups),
        sum(group.released for group in groups),
        sum(group.dying for group in groups),
    )


def _samples(stored: StoredSegment) -> dict[tuple[int, int], int]:
    """Samples of the clock by whole second of CLOCK_MONOTONIC and core."""
    if not stored.has_profile:
        return {}
    profile = _native.Profile(stored.profile)
    span = profile.span()
    if span is None:
        return {}
    begin = span[0] // SECOND_NS
    end = span[1] // SECOND_NS + 1
    query = _native.Query(
        begin * SECOND_NS,
        end * SECOND_NS,
        cpus=[],
        processes=[],
        threads=[],
        events=CLOCK_EVENTS,
        idle=True,
    )
    _, rows, cells = profile.cores(query, SECOND_NS)
    return {(begin + place // rows, place % rows): count for place, count in enumerate(cells)}


def _damaged(stored: StoredSegment) -> Iterator[str]:
    for file in stored.description.files:
        content = (stored.folder / file.name).read_bytes()
        if hashlib.sha256(content).hexdigest() != file.sha256:
            yield f"{stored.folder.name}/{file.name}"
