"""What is wrong now: the detectors over the last ten minutes that were recorded of this boot.

What happens within seconds is looked for in every segment once and then remembered; what lasts, and what is a
slow rate, in the whole time. So a finding that came and went stands for ten minutes, and one that lasts goes
when the newest reading no longer shows it. A detector that could look at some of the time counts as one that
could. What the end of a segment cuts into two halves that are each too short is not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from necroscope.findings.catalog import DETECTORS
from necroscope.findings.cpu_throttling import cpu_throttling
from necroscope.findings.detector import Case, Detector
from necroscope.findings.examine import ask
from necroscope.findings.memory_cgroup_leak import memory_cgroup_leak
from necroscope.findings.standing_memory import Looked, read_memory, write_memory
from necroscope.findings.unit_crash_loop import unit_crash_loop
from necroscope.findings.unit_held_back import unit_held_back
from necroscope.findings.zombie_memory_cgroups import zombie_memory_cgroups
from necroscope.model.event import Event
from necroscope.model.node_state import LOOK_BACK_SECONDS, ActiveFinding, NodeState
from necroscope.model.time_range import TimeRange
from necroscope.signals.kernel_log_events import find_in_log
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.pressure import PRESSURE
from necroscope.sources.processes import PROCESSES
from necroscope.sources.run_queues import RUN_QUEUES
from necroscope.sources.source import Source
from necroscope.store.read_range import read_stretch
from necroscope.store.retention import read_entries
from necroscope.store.segment import Segment
from necroscope.store.store import StoredSegment, read_segment
from necroscope.store.stored_events import read_events

LASTING = (zombie_memory_cgroups, memory_cgroup_leak, unit_crash_loop, unit_held_back, cpu_throttling)
MOMENTARY = tuple(detector for detector in DETECTORS if detector not in LASTING)
# Detectors only name them as evidence, and a state has none. Of 96 cores they are half of the reading.
EVIDENCE_ONLY = (PROCESSES, RUN_QUEUES, PRESSURE)
LOOK_BACK_NS = int(LOOK_BACK_SECONDS * 1e9)
SOONEST_NS = 30 * 10**9  # after the last time: segments may be as short as two seconds
MOST_FINDINGS = 100


def examine_last_minutes(folder: Path, boot_id: str, thresholds: Thresholds) -> NodeState | None:
    """The state of a host, whose segments are in a folder, at the end of the newest that is sealed.

    None: nothing of this boot is sealed yet, or nothing new since the last time.
    """
    segments = _last_minutes(folder, boot_id)
    memory = read_memory(folder, boot_id, thresholds)
    # What is remembered of a time to come is damaged, and must not be waited for.
    if not segments or 0 <= _until_ns(segments) - memory.until_ns < SOONEST_NS:
        return None
    for stored in segments:
        if stored.folder.name not in memory.segments:
            memory.segments[stored.folder.name] = _look_at_moments(stored, segments, thresholds)
    rows = [memory.segments[stored.folder.name] for stored in reversed(segments)]
    memory.keep([stored.folder.name for stored in segments if not stored.is_open], _until_ns(segments))
    write_memory(folder, memory)
    return _state(segments[-1].end_ns, [_look_at_all(segments, thresholds), *rows])


def _last_minutes(folder: Path, boot_id: str) -> list[StoredSegment]:
    """The segments of the last minutes of a boot, up to the newest sealed one, which tells the time of day.

    Within a boot all are on one clock, however often the wall clock was set.
    """
    own = sorted(
        (entry for entry in read_entries(folder) if entry.boot_id == boot_id),
        key=lambda entry: entry.begin_monotonic_ns,
    )
    while own and own[-1].is_open:
        own.pop()
    since_ns = own[-1].begin_monotonic_ns - LOOK_BACK_NS if own else 0
    first = max(sum(entry.begin_monotonic_ns <= since_ns for entry in own) - 1, 0)
    segments = [read_segment(folder / entry.name) for entry in own[first:]]
    moved = [_moved(segment, segments[-1].offset_ns) for segment in segments]
    return [segment for segment in moved if segment.end_ns > moved[-1].end_ns - LOOK_BACK_NS]


def _moved(segment: StoredSegment, offset_ns: int) -> StoredSegment:
    by_ns = offset_ns - segment.offset_ns
    return replace(
        segment, begin_ns=segment.begin_ns + by_ns, end_ns=segment.end_ns + by_ns, offset_ns=offset_ns
    )


def _until_ns(segments: Sequence[StoredSegment]) -> int:
    return segments[-1].end_ns - segments[-1].offset_ns


def _look_at_moments(
    stored: StoredSegment, segments: Sequence[StoredSegment], thresholds: Thresholds
) -> Looked:
    """What the detectors of what happens say of one segment."""
    stretch = _read([stored], segments[-1].end_ns, MOMENTARY)
    if stretch is None:
        return Looked()
    since_ns = _until_ns(segments) - LOOK_BACK_NS
    noted = [one.event for one in read_events(stored) if one.event.kind == "capture-gap"]
    found = find_in_log(stretch)
    # A recorder that was started an hour after the last one has the lines of that hour in its first moment.
    recent = tuple(event for event in (*found.events, *noted) if _end_ns(event) >= since_ns)
    userspace_lines = tuple(event for event in found.userspace_lines if event.time_ns >= since_ns)
    return _looked(MOMENTARY, Case(stretch, recent, thresholds, userspace_lines))


def _look_at_all(segments: Sequence[StoredSegment], thresholds: Thresholds) -> Looked:
    """What the detectors of what lasts say of all of the time."""
    stretch = _read(segments, segments[-1].end_ns, LASTING)
    return _looked(LASTING, Case(stretch, (), thresholds)) if stretch else Looked()


def _read(segments: Sequence[StoredSegment], end_ns: int, detectors: Sequence[Detector]) -> Segment | None:
    sources: list[Source[Any]] = []
    for detector in detectors:
        sources += [one for one in (*detector.needs, *detector.uses) if one not in (*sources, *EVIDENCE_ONLY)]
    stretches = read_stretch(segments, TimeRange(end_ns - LOOK_BACK_NS, end_ns + 1), sources)
    return stretches[-1] if stretches else None


def _end_ns(event: Event) -> int:
    return event.time_ns + int((event.seconds or 0) * 1e9)


def _looked(detectors: Sequence[Detector], case: Case) -> Looked:
    examination = ask(detectors, case)
    findings = [ActiveFinding(one.id, one.severity, one.summary, one.subject) for one in examination.findings]
    why = {
        detector.id: row.reason
        for detector in detectors
        for row in reversed(examination.not_checked)
        if row.source in (detector.id, *(source.id for source in detector.needs))
    }
    not_checked = {id: reason for id, reason in why.items() if id not in examination.checked}
    return Looked(tuple(_once_each(findings))[:MOST_FINDINGS], examination.checked, not_checked)


def _once_each(findings: Iterable[ActiveFinding]) -> Iterator[ActiveFinding]:
    """Of several about the same core or unit the first."""
    seen = set()
    for finding in findings:
        key = finding.id, finding.severity, finding.subject
        if not finding.subject or key not in seen:
            seen.add(key)
            yield finding


def _state(examined_utc_ns: int, rows: Sequence[Looked]) -> NodeState:
    """All rows, the newest first, as one: what a newer one says of a thing takes the place of the older."""
    could = {id for row in rows for id in row.checked}
    found: list[ActiveFinding] = []
    known: set[tuple[object, ...]] = set()
    for row in rows:
        new = [one for one in row.findings if (one.id, one.severity, one.subject) not in known]
        known |= {(one.id, one.severity, one.subject) for one in new}
        found += new
    found.sort(key=lambda one: one.severity.rank)
    why = {id: reason for row in reversed(rows) for id, reason in row.not_checked.items()}
    return NodeState(
        examined_utc_ns,
        tuple(one for one in found if one.id in could)[:MOST_FINDINGS],
        tuple(detector.id for detector in DETECTORS if detector.id in could),
        tuple(
            (detector.id, why.get(detector.id, "too little was recorded"))
            for detector in DETECTORS
            if detector.id not in could
        ),
    )
