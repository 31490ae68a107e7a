"""What is wrong now: the detectors over what the recorder read last.

What happens within seconds is looked for in the last half minute, every few seconds and at once when there is
an event, and stands until it has not been there for ten minutes. What lasts, and what is a slow rate, is
judged over ten minutes at their end, and goes when the newest reading no longer shows it. A detector that
could look at some of the ten minutes counts as one that could.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from necroscope.errors import NecroscopeError
from necroscope.findings.catalog import DETECTORS
from necroscope.findings.cpu_throttling import cpu_throttling
from necroscope.findings.detector import Case, Detector
from necroscope.findings.examine import ask
from necroscope.findings.memory_cgroup_leak import memory_cgroup_leak
from necroscope.findings.unit_crash_loop import unit_crash_loop
from necroscope.findings.unit_held_back import unit_held_back
from necroscope.findings.zombie_memory_cgroups import zombie_memory_cgroups
from necroscope.model.event import Event
from necroscope.model.examination import Examination
from necroscope.model.labels import Labels
from necroscope.model.node_state import LOOK_BACK_SECONDS, ActiveFinding, NodeState
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.kernel_log_events import find_in_log, kernel_log_rules
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.instance import INSTANCE
from necroscope.sources.pressure import PRESSURE
from necroscope.sources.processes import PROCESSES
from necroscope.sources.run_queues import RUN_QUEUES
from necroscope.sources.source import Source
from necroscope.store.clock import Anchor
from necroscope.store.read_range import read_moments
from necroscope.store.retention import read_entries
from necroscope.store.segment import Moment, Segment
from necroscope.store.store import StoredSegment, read_segment
from necroscope.store.stored_events import read_events

LASTING = (zombie_memory_cgroups, memory_cgroup_leak, unit_crash_loop, unit_held_back, cpu_throttling)
MOMENTARY = tuple(detector for detector in DETECTORS if detector not in LASTING)
# Detectors only name them as evidence, and a state has none. Of 96 cores they are half of the reading.
EVIDENCE_ONLY = (PROCESSES, RUN_QUEUES, PRESSURE)
LOOK_BACK_NS = int(LOOK_BACK_SECONDS * SECOND_NS)
WINDOW_NS = 30 * SECOND_NS  # for what happens: longer than any detector needs to see it
LASTING_STEP_NS = 30 * SECOND_NS  # between the readings that are kept for what lasts
FIRST_LOOK_NS = 6 * SECOND_NS  # after the start: what is read every 5 s was then read twice
LOOK_EVERY_NS = 4 * SECOND_NS
MAX_PAUSE_NS = WINDOW_NS // 2  # the windows of two looks overlap
QUIET_SHARE, BUSY_SHARE = 0.002, 0.02  # of one CPU, for all looks; when events come one after the other
MAX_FINDINGS = 100
MAX_EVENTS = 5000

LOG_RULES = frozenset(rule.id for rule in kernel_log_rules())

Key = tuple[object, ...]
Heard = deque[tuple[int, Event]]  # with when we heard of it


def _sources_of(detectors: Iterable[Detector]) -> dict[str, Source[Any]]:
    sources = [source for one in detectors for source in (*one.needs, *one.uses)]
    return {source.id: source for source in sources if source not in EVIDENCE_ONLY}


MOMENTARY_SOURCES, LASTING_SOURCES = _sources_of(MOMENTARY), _sources_of(LASTING)
# A window may have no reading of them.
SLOW = tuple(id for id, source in MOMENTARY_SOURCES.items() if source.pace_seconds * SECOND_NS > WINDOW_NS)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Findings of one key: when they were last there, and when they began to be described like this."""

    last_ns: int
    described_ns: int
    findings: tuple[ActiveFinding, ...]

    def seen_again(self, now_ns: int, findings: tuple[ActiveFinding, ...], *, has_news: bool) -> _Seen:
        """Return them with their newest description, but not with that of what half left the window."""
        age_ns = now_ns - self.described_ns
        if has_news or age_ns >= 2 * WINDOW_NS:
            return _Seen(now_ns, now_ns, findings)
        return _Seen(now_ns, self.described_ns, findings if age_ns <= WINDOW_NS // 2 else self.findings)


class ActiveFindings:
    """Fold what is read and what happens into the state of the node."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._labels = Labels()
        self._window: deque[Moment] = deque()
        self._slow: dict[str, Any] = {}  # the newest reading of each
        self._lasting: deque[Moment] = deque()
        self._events: Heard = deque(maxlen=MAX_EVENTS)
        self._userspace_lines: Heard = deque(maxlen=MAX_EVENTS)
        self._seen: dict[Key, _Seen] = {}
        self._checked: dict[str, int] = {}  # when a detector could look last
        self._why: dict[str, str] = {}  # a detector could not
        self._first_ns: int | None = None
        self._looked_ns = 0
        self._cost_ns = 0  # of the last look
        self._has_news = False

    def set_thresholds(self, thresholds: Thresholds) -> None:
        """Forget what was found under other thresholds."""
        if thresholds != self._thresholds:
            self._thresholds = thresholds
            self._seen.clear()

    def feed(self, moment: Moment, events: Sequence[Event], userspace_lines: Sequence[Event]) -> bool:
        """Take what was read and what happened; return whether it is time to examine it."""
        self._keep(moment, events, userspace_lines)
        now_ns = moment.time_ns
        if self._first_ns is None:
            self._first_ns = now_ns
        if now_ns - self._first_ns < FIRST_LOOK_NS:
            return False
        pause_ns = min(max(LOOK_EVERY_NS, self._cost_ns / QUIET_SHARE), MAX_PAUSE_NS)
        if self._has_news:
            pause_ns = min(pause_ns, self._cost_ns / BUSY_SHARE)
        return now_ns - self._looked_ns >= pause_ns

    def examine(self, offset_ns: int) -> NodeState:
        """Return the state at the newest reading; the offset is from its clock to UTC."""
        began_ns = time.thread_time_ns()
        now_ns = self._looked_ns = self._window[-1].time_ns
        self._look_at_window(offset_ns)
        lasting = ask(LASTING, Case(self._segment(self._lasting, offset_ns), (), self._thresholds))
        self._why |= _why_not_checked(LASTING, lasting)
        state = self._state(now_ns, offset_ns, lasting)
        self._cost_ns = time.thread_time_ns() - began_ns
        return state

    def rebuild(self, folder: Path, boot_id: str, now_ns: int) -> list[str]:
        """Take the last minutes of this boot from its newest segments; return why some cannot be read."""
        since_ns = now_ns - LOOK_BACK_NS
        problems = []
        for path in _newest(folder, boot_id, since_ns):
            try:
                self._take_stored(read_segment(path), since_ns)
            except NecroscopeError as error:
                problems.append(error.what)
        self._window.clear()  # the recorder notes the hole itself
        self._events.clear()
        self._userspace_lines.clear()
        self._looked_ns = 0
        return problems

    def _take_stored(self, stored: StoredSegment, since_ns: int) -> None:
        sources = {**MOMENTARY_SOURCES, **LASTING_SOURCES}
        moments = [one for one in read_moments(stored, [*sources.values()]) if one.time_ns >= since_ns]
        if not moments:
            return
        self._labels = stored.description.host
        self._first_ns = self._first_ns or moments[0].time_ns
        self._window.clear()
        found = find_in_log(self._segment(moments, stored.offset_ns))
        noted = [one.event for one in read_events(stored) if one.event.kind == "capture-gap"]
        heard_ns = 0
        for moment in moments:
            now_ns = moment.time_ns
            events = [one for one in (*found.events, *noted) if heard_ns < _end_ns(one) <= now_ns]
            lines = [one for one in found.userspace_lines if heard_ns < one.time_ns <= now_ns]
            self._keep(moment, events, lines)
            heard_ns = now_ns
            if now_ns - self._looked_ns >= MAX_PAUSE_NS or moment is moments[-1]:
                self._looked_ns = now_ns
                self._look_at_window(stored.offset_ns)

    def _keep(self, moment: Moment, events: Sequence[Event], userspace_lines: Sequence[Event]) -> None:
        now_ns = moment.time_ns
        self._labels = moment.value(INSTANCE) or self._labels
        momentary = {id: reading for id, reading in moment.readings.items() if id in MOMENTARY_SOURCES}
        self._window.append(Moment(now_ns, momentary, {}))
        while self._window[0].time_ns < now_ns - WINDOW_NS:
            self._window.popleft()
        self._slow |= {id: momentary[id] for id in SLOW if id in momentary}
        self._keep_lasting(moment)
        for kept, new in ((self._events, events), (self._userspace_lines, userspace_lines)):
            recent = [one for one in new if _is_of_log(one) and _end_ns(one) >= now_ns - LOOK_BACK_NS]
            kept.extend((now_ns, one) for one in recent)
            while kept and kept[0][0] < now_ns - WINDOW_NS:
                kept.popleft()
        self._has_news |= bool(events)

    def _keep_lasting(self, moment: Moment) -> None:
        """Keep the newest reading of each source of every half minute."""
        readings = {id: reading for id, reading in moment.readings.items() if id in LASTING_SOURCES}
        if not readings:
            return
        kept = self._lasting
        if len(kept) > 1 and kept[-1].time_ns - kept[-2].time_ns < LASTING_STEP_NS:
            readings = {**kept.pop().readings, **readings}
        kept.append(Moment(moment.time_ns, readings, {}))
        while kept[0].time_ns < moment.time_ns - LOOK_BACK_NS:
            kept.popleft()

    def _segment(self, moments: Iterable[Moment], offset_ns: int) -> Segment:
        return Segment(self._labels, Anchor(0, offset_ns), tuple(moments))

    def _look_at_window(self, offset_ns: int) -> None:
        first, *others = self._window
        first = replace(first, readings={**self._slow, **first.readings})
        now_ns = self._window[-1].time_ns
        examination = ask(
            MOMENTARY,
            Case(
                self._segment((first, *others), offset_ns),
                tuple(event for _, event in self._events),
                self._thresholds,
                tuple(event for _, event in self._userspace_lines),
            ),
        )
        by_key: dict[Key, list[ActiveFinding]] = defaultdict(list)
        for finding in _active(examination):
            by_key[_key(finding)].append(finding)
        for key, findings in by_key.items():
            seen = self._seen.get(key, _Seen(now_ns, now_ns, ()))
            self._seen[key] = seen.seen_again(now_ns, tuple(findings), has_news=self._has_news)
        self._has_news = False
        self._checked |= dict.fromkeys(examination.checked, now_ns)
        self._why |= _why_not_checked(MOMENTARY, examination)

    def _state(self, now_ns: int, offset_ns: int, lasting: Examination) -> NodeState:
        since_ns = now_ns - LOOK_BACK_NS
        self._seen = {key: seen for key, seen in self._seen.items() if seen.last_ns >= since_ns}
        newest_first = sorted(self._seen.values(), key=lambda seen: -seen.last_ns)
        found = [*_active(lasting), *(finding for seen in newest_first for finding in seen.findings)]
        could = {id for id, last_ns in self._checked.items() if last_ns >= since_ns} | {*lasting.checked}
        found.sort(key=lambda finding: finding.severity.rank)
        return NodeState(
            now_ns + offset_ns,
            tuple(finding for finding in found if finding.id in could)[:MAX_FINDINGS],
            tuple(detector.id for detector in DETECTORS if detector.id in could),
            tuple(
                (detector.id, self._why.get(detector.id, "too little was recorded"))
                for detector in DETECTORS
                if detector.id not in could
            ),
        )


def _newest(folder: Path, boot_id: str, since_ns: int) -> list[Path]:
    """Return the folders of the segments of a boot that reach into the time since then, the oldest first."""
    own = sorted(
        (entry for entry in read_entries(folder) if entry.boot_id == boot_id),
        key=lambda entry: entry.begin_monotonic_ns,
    )
    first = max(sum(entry.begin_monotonic_ns <= since_ns for entry in own) - 1, 0)
    return [folder / entry.name for entry in own[first:]]


def _is_of_log(event: Event) -> bool:
    """Detectors find out by themselves what else the recorder makes an event of."""
    return event.kind == "capture-gap" or event.rule in LOG_RULES


def _end_ns(event: Event) -> int:
    return event.time_ns + int((event.seconds or 0) * SECOND_NS)


def _key(finding: ActiveFinding) -> Key:
    return finding.id, finding.severity, finding.subject


def _active(examination: Examination) -> list[ActiveFinding]:
    """Return what was found; of several about the same core or unit the first."""
    found: dict[Key, ActiveFinding] = {}
    for number, one in enumerate(examination.findings):
        finding = ActiveFinding(one.id, one.severity, one.summary, one.subject)
        found.setdefault(_key(finding) if one.subject else (number,), finding)
    return list(found.values())


def _why_not_checked(detectors: Sequence[Detector], examination: Examination) -> dict[str, str]:
    return {
        detector.id: row.reason
        for detector in detectors
        for row in reversed(examination.not_checked)
        if row.source in (detector.id, *(source.id for source in detector.needs))
    }
