"""What happened in a range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from necroscope.errors import NecroscopeError
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import US_NS, Range
from necroscope.signals import queue_cpus
from necroscope.signals.kernel_log_events import kernel_log_rules
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.store.read_range import read_moments
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import LATEST_NS, StoredEvent, read_events

MOST_EVENTS = 2000
MOST_LOOKED_UP = 50  # of events that name a queue and no core: each takes a look into its segment


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event, and the line that it was read from where there is one."""

    id: str
    time_us: int
    kind: str
    text: str
    core: int | None
    device: str | None
    queue: int | None
    line: str


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a range, the oldest first. Of too many, those of frequent kinds are left out."""

    events: list[RecordedEvent]
    left_out: int
    kinds: dict[str, int]  # how many there are of each kind, those left out included
    damaged: list[Damaged]


def ask_events(store: RecordedStore, span: Range, kinds: tuple[str, ...]) -> Events:
    """The events of a range, the oldest first; of too many, the rarest kinds."""
    damaged: list[Damage] = []
    found = events_in(store, span, damaged)
    wanted = [stored for stored in found if not kinds or stored.event.kind in kinds]
    kept = rarest_kinds(wanted, MOST_EVENTS)
    return Events(
        events=recorded_events(store, kept),
        left_out=len(wanted) - len(kept),
        kinds=dict(Counter(stored.event.kind for stored in found).most_common()),
        damaged=store.damaged_in(span, damaged),
    )


def events_in(store: RecordedStore, span: Range, damaged: list[Damage]) -> list[StoredEvent]:
    """All events of a range, those of sealed segments read once."""
    wide = span.time.widened(LATEST_NS)
    near = [segment for segment in store.recorded_in(span) if segment.overlaps(wide)]
    # As `events_between` does: one that lasts into the next segment is told there too.
    found = {
        (one.segment.boot_id, one.event.kind, one.event.time_ns, one.event.sequence): one
        for segment in near
        for one in _events_of(store, segment, damaged)
    }
    inside = [one for one in found.values() if span.time.contains(one.utc_ns)]
    return sorted(inside, key=lambda one: (one.utc_ns, one.id))


def _events_of(store: RecordedStore, segment: StoredSegment, damaged: list[Damage]) -> list[StoredEvent]:
    try:
        if segment.is_open:
            return read_events(segment)
        if segment.description.events == {}:  # it says that it has none
            return []
        return store.events.get((segment.folder, segment.offset_ns), lambda: read_events(segment))
    except NecroscopeError as error:
        damaged.append(Damage(segment.folder, error))
        return []


def rarest_kinds(events: Sequence[StoredEvent], most: int) -> list[StoredEvent]:
    """At most so many events, in order: all of the rarest kinds, of the last one the newest."""
    if len(events) <= most:
        return list(events)
    counts = Counter(stored.event.kind for stored in events)
    rarest = sorted(events, key=lambda one: (counts[one.event.kind], one.event.kind, -one.utc_ns))
    return sorted(rarest[:most], key=lambda one: (one.utc_ns, one.id))


def recorded_events(store: RecordedStore, events: Sequence[StoredEvent]) -> list[RecordedEvent]:
    """Events as the page wants them; of the newest, the core that serves the queue they name."""
    nameless = [one for one in events if one.event.core is None and one.event.queue is not None]
    cores = {one.id: _core(store, one) for one in nameless[-MOST_LOOKED_UP:]}
    return [recorded_event(stored, cores.get(stored.id)) for stored in events]


def _core(store: RecordedStore, stored: StoredEvent) -> int | None:
    return store.queue_cores.get((stored.segment.host, stored.id), lambda: core_of_queue(stored))


def core_of_queue(stored: StoredEvent) -> int | None:
    """Return the only core that served an event's queue as it came, or None; damage is reported elsewhere."""
    event = stored.event
    try:
        samples = read_moments(stored.segment, (NIC_QUEUES,))
    except NecroscopeError:
        return None
    cores = queue_cpus.over(samples, event.time_ns).cpus(event.device or event.bus, event.queue)
    return cores.pop() if len(cores) == 1 else None


def recorded_event(stored: StoredEvent, core: int | None = None) -> RecordedEvent:
    """One event; its core, where the event itself does not name it."""
    event = stored.event
    return RecordedEvent(
        id=stored.id,
        time_us=stored.utc_ns // US_NS,
        kind=event.kind,
        text=event.text,
        core=core if event.core is None else event.core,
        device=event.device or None,
        queue=event.queue,
        line=event.text if event.rule in _line_rules() else "",
    )


@cache
def _line_rules() -> frozenset[str]:
    """The rules whose events are lines of the kernel log."""
    return frozenset(rule.id for rule in kernel_log_rules())
