"""Episodes: which events are about one incident.

The only place that decides it. Events of one place (a network device; else a unit, a cpu or a process) are
one episode if each comes at most `episode_seconds` after the one before. A line that reports the end of a
reset continues an episode and does not begin one. A store has events, which are single lines or counts;
episodes are found in them whenever somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from necroscope.model.episode import Episode
from necroscope.model.event import Event
from necroscope.signals.reset_reason import reset_reason, stated_cause, stronger
from necroscope.signals.thresholds import Thresholds
from necroscope.store.stored_events import StoredEvent

# A core that is stuck is reported by several detectors of the kernel.
LOCKUPS = frozenset({"soft-lockup", "hard-lockup", "rcu-stall"})
MAX_OPEN = 1024  # names can be made up in the kernel log

Place = tuple[str, str]


def episode_seconds(kind: str, thresholds: Thresholds) -> float:
    """Return how long after an event of a kind the next one is still of the same episode."""
    return thresholds[f"{'nic-reset' if kind == 'nic-reset' else 'events'}.episode_seconds"]


def place_of(event: Event) -> Place:
    """Return what the events of one episode have in common."""
    core = "" if event.core is None else f"core {event.core}"
    where = event.device or event.bus or event.unit or core or event.process
    return "lockup" if event.kind in LOCKUPS else event.kind, where


@dataclass(slots=True)
class Episodes:
    """A fold over the events of one boot, in the order in which they come."""

    thresholds: Thresholds
    _newest: dict[Place, Episode] = field(default_factory=dict)

    def feed(self, event: Event) -> Episode | None:
        """Take in the next event; return its episode so far, or None if it only reports the end of one."""
        place, known = place_of(event), self.current(event)
        if event.phase == "done":
            if known:
                self._newest[place] = known = replace(known, end_ns=max(known.end_ns, event.time_ns))
            return known
        reason = self._reason(event)
        if known:
            episode = Episode(
                first=known.first,
                clearest=max(known.clearest, event, key=_clearness),
                end_ns=max(known.end_ns, event.time_ns),
                lines=known.lines + 1,
                reason=stronger(known.reason, reason) if reason else "",
            )
        else:
            episode = Episode(event, event, event.time_ns, 1, reason)
        self._newest.pop(place, None)
        self._newest[place] = episode
        if len(self._newest) > MAX_OPEN:
            del self._newest[next(iter(self._newest))]
        return episode

    def current(self, event: Event) -> Episode | None:
        """Return the episode that an event is part of, or would be; None if it begins one."""
        known = self._newest.get(place_of(event))
        gap_ns = episode_seconds(event.kind, self.thresholds) * 1e9
        return known if known and event.time_ns - known.end_ns <= gap_ns else None

    def _reason(self, event: Event) -> str:
        if event.kind != "nic-reset":
            return ""
        return reset_reason(event, self.thresholds["nic-reset.starved_seconds"])


def over(events: Iterable[Event], thresholds: Thresholds) -> list[Episode]:
    """Return the episodes of the recorded events of one boot, the oldest first."""
    fold, found = Episodes(thresholds), dict[Event, Episode]()
    for event in sorted(events, key=lambda event: event.time_ns):
        if episode := fold.feed(event):
            found[episode.first] = episode
    return list(found.values())


def over_stored(
    stored: Sequence[StoredEvent], thresholds: Thresholds
) -> Iterator[tuple[Episode, StoredEvent]]:
    """Return the episodes of stored events, each with its first event. Every boot has its own clock."""
    by_boot: dict[tuple[str, str], dict[Event, StoredEvent]] = {}
    for one in stored:
        by_boot.setdefault((one.segment.host, one.segment.boot_id), {})[one.event] = one
    for named in by_boot.values():
        yield from ((episode, named[episode.first]) for episode in over(named, thresholds))


def _clearness(event: Event) -> tuple[bool, bool, bool, bool, int]:
    """Prefer the line that names the queue and what its NAPI did; the first of several."""
    return (
        event.napi_scheduled is not None,
        event.queue is not None,
        event.phase == "stall",
        bool(stated_cause(event)),
        -event.time_ns,
    )
