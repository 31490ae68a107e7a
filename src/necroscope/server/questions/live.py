"""What a running recorder has written since it was last asked; open segments are read on, not read again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from necroscope import _native
from necroscope.errors import NothingRecordedError
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.server.questions.cores import Cores, cores_answer
from necroscope.server.questions.events import RecordedEvent, recorded_events
from necroscope.server.questions.hosts import is_live
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import US_NS
from necroscope.server.questions.zombies import Zombies, zombies_answer
from necroscope.signals.cgroup_counts import Count, counts_in, recorded_counts
from necroscope.signals.core_heat import CoreHeat
from necroscope.signals.core_states import cores_file
from necroscope.sources.cores import CORES
from necroscope.store.journal import Journal
from necroscope.store.store import Damage, StoredSegment, sealed_meanwhile
from necroscope.store.stored_events import StoredEvent, events_between, last_told
from necroscope.store.tables import shape_of

LONGEST_NS = 300 * SECOND_NS
# Units are looked at every minute, and how long something lasted is told when it is over: such events come
# again, under the same id.
LATE_NS = 120 * SECOND_NS
BEFORE_NS = 3 * SECOND_NS  # a rate needs the reading before


@dataclass(frozen=True, slots=True)
class Live:
    """The newest seconds, at most five minutes of them."""

    now_us: int
    last_us: int  # the newest recorded second
    is_live: bool
    why: str  # why it is not live
    cores: Cores | None
    events: list[RecordedEvent]
    zombies: Zombies | None


def ask_live(store: RecordedStore, host: str, since_us: int) -> Live:
    """The whole seconds from `since_us` on; asked with `last_us` of this answer, the next one goes on."""
    segments = [segment for segment in store.segments_of(host) if segment.boot_id]
    if not segments:
        raise NothingRecordedError("there are imported captures of this host only")
    now_ns, newest_ns = time.time_ns(), max(segment.end_ns for segment in segments)
    last_ns = newest_ns - newest_ns % SECOND_NS
    first_ns = min(segment.begin_ns for segment in segments)
    begin_ns = max(since_us * US_NS, last_ns - LONGEST_NS, first_ns)
    begin_ns -= begin_ns % SECOND_NS
    lives = is_live(segments, now_ns)
    seconds = newest_seconds(store, segments, min(begin_ns, last_ns), last_ns)
    has_new = begin_ns < last_ns
    return Live(
        now_us=now_ns // US_NS,
        last_us=last_ns // US_NS,
        is_live=lives,
        why="" if lives else _why(now_ns, newest_ns),
        cores=cores_answer(seconds.heat(), []) if has_new else None,
        events=recorded_events(store, seconds.events(begin_ns - LATE_NS)),
        zombies=zombies_answer(seconds.counts(), None, "the overview has it", []) if has_new else None,
    )


def _why(now_ns: int, newest_ns: int) -> str:
    seconds = (now_ns - newest_ns) // SECOND_NS
    if seconds < 0:
        return "the newest second is in the future: the clocks differ"
    return f"no recorder has written for {seconds:,} s; necroscope record starts one"


@dataclass(frozen=True, slots=True)
class NewestSeconds:
    """Sealed segments, and what is known of the open ones, from `begin_ns` until `end_ns` (UTC)."""

    store: RecordedStore
    begin_ns: int
    end_ns: int
    sealed: list[StoredSegment]
    open: list[tuple[StoredSegment, Journal]]

    def heat(self) -> CoreHeat:
        """How full the cores were, second by second."""
        heat = _native.CoreHeat(self.begin_ns, self.end_ns, SECOND_NS)
        files = [(path, s.offset_ns) for s in self._inside(self.sealed) if (path := cores_file(s))]
        for seconds in self.store.seconds.of(files):
            if not isinstance(seconds, OSError):  # else it is a hole here, and damage in the overview
                heat.add_seconds(seconds)
        for segment, journal in self.open:
            heat.add_columns(self._columns(segment, journal), segment.offset_ns)
        percents = {name: heat.percents(name) for name in ("user", "system", "softirq", "steal", "wait")}
        return CoreHeat(self.begin_ns, SECOND_NS, heat.columns, heat.cores, **percents, damaged=[])

    def counts(self) -> list[tuple[int, Count]]:
        """Counts of memory cgroups, by the wall clock."""
        found = {
            count.time_ns + segment.offset_ns: count
            for segment in self._inside(self.sealed)
            for count in recorded_counts([segment], TimeRange(self.begin_ns, self.end_ns))
        }
        for segment, journal in self.open:
            found |= {count.time_ns + segment.offset_ns: count for count in counts_in(journal.moments)}
        return sorted(row for row in found.items() if self.begin_ns <= row[0] < self.end_ns)

    def events(self, since_ns: int) -> list[StoredEvent]:
        """The events since a time (UTC), in order; one that lasts as it was told last."""
        damaged: list[Damage] = []
        sealed = [segment for segment in self.sealed if segment.description.events != {}]
        until_ns = self.end_ns + SECOND_NS  # an event of the second that has begun is told at once
        found = {one.id: one for one in events_between(sealed, TimeRange(since_ns, until_ns), damaged)}
        for segment, journal in self.open:
            offset_ns = segment.description.clock.offset_ns  # as it will be sealed with
            for id, event in last_told(journal.events, offset_ns).items():
                found[id] = StoredEvent(id, event.time_ns + segment.offset_ns, event, segment)
        late = [one for one in found.values() if since_ns <= one.utc_ns < until_ns]
        return sorted(late, key=lambda one: (one.utc_ns, one.id))

    def _inside(self, segments: Sequence[StoredSegment]) -> list[StoredSegment]:
        return [s for s in segments if s.begin_ns < self.end_ns and s.end_ns >= self.begin_ns]

    def _columns(self, segment: StoredSegment, journal: Journal) -> dict[str, list[int]]:
        shape = shape_of(CORES)
        from_ns = self.begin_ns - BEFORE_NS - segment.offset_ns
        rows = [
            (moment.time_ns, *row)
            for moment in journal.moments
            if moment.time_ns >= from_ns
            and (reading := moment.readings.get(CORES.id))
            and reading.value is not None
            for row in shape.rows(reading.value)[0]
        ]
        names = ["time", *(name for name, _ in shape.tables[0].columns)]
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def newest_seconds(
    store: RecordedStore, segments: Sequence[StoredSegment], begin_ns: int, end_ns: int
) -> NewestSeconds:
    """What there is between two whole seconds."""
    sealed, still_open = [], []
    for segment in segments:
        if not segment.is_open:
            sealed.append(segment)
        elif segment.end_ns >= begin_ns - BEFORE_NS:
            try:
                still_open.append((segment, store.journals.read_on(segment.folder)))
            except FileNotFoundError:
                if now := sealed_meanwhile(segment):
                    sealed.append(now)
    return NewestSeconds(store, begin_ns, end_ns, sealed, still_open)
