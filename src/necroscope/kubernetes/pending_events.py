"""What the cluster has to know of the events of the recorder: what repeats is counted up in one Event.

A driver writes several lines about one stall: an episode (signals/episodes.py). A device that stalls often
stalls again within minutes: several episodes are one Event in the cluster, and its count is their number.
How many Events are reported in an hour is bounded; those beyond are counted. What is past is measured by the
clock that nobody sets, CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from necroscope.kubernetes.cluster_events import LONGEST_MESSAGE
from necroscope.kubernetes.event_rules import EventRule, event_rules
from necroscope.kubernetes.event_series import EventSeries
from necroscope.kubernetes.event_words import Busy, NicWords, line_words
from necroscope.model.advice import around_command
from necroscope.model.episode import Episode
from necroscope.model.event import Event, event_id
from necroscope.model.timestamp import SECOND_NS
from necroscope.model.visible_text import visible_text
from necroscope.signals.episodes import Episodes, Place, place_of
from necroscope.signals.queue_cpus import QueueCpus
from necroscope.signals.reset_reason import reset_reason

SERIES_NS = 600 * SECOND_NS  # an episode so soon after the one before is counted up in its Event
REPORT_AGAIN_NS = 60 * SECOND_NS  # a series that goes on
OLDEST_NS = 3600 * SECOND_NS  # the API server itself keeps events for an hour
MOST_PER_HOUR = 20  # series
MOST_OPEN = 100


@dataclass(slots=True)
class _Open:
    """A series that may go on."""

    id: str
    rule: EventRule
    first_utc_ns: int
    last_utc_ns: int
    last_ns: int
    episode: Episode  # the newest
    count: int  # of episodes
    last: Event
    words: NicWords | None
    reported_ns: int | None = None  # when it was last handed on; None: not yet
    is_changed: bool = True


@dataclass(slots=True)
class PendingEvents:
    """Fed with events as they come; `due` hands on what the cluster has to know."""

    episodes: Episodes
    dropped: int = 0  # because there were too many within an hour
    last_ids: dict[str, str] = field(default_factory=dict)  # of the last event, by kind
    queue_cpus: QueueCpus = field(default_factory=QueueCpus)  # to be fed with every sample
    _open: dict[Place, _Open] = field(default_factory=dict)
    _begun: deque[int] = field(default_factory=deque)
    _unreported: dict[Place, int] = field(default_factory=dict)  # beyond the limit: their last event
    _busy: dict[int, Busy] = field(default_factory=dict)  # by core

    def take(self, events: Sequence[Event], offset_ns: int, now_ns: int) -> None:
        """Events of one moment, which is `now_ns` on their clock; `offset_ns` leads from it to UTC."""
        for event in events:
            if event.kind == "core-saturated" and event.core is not None:
                self._busy[event.core] = Busy(event.time_ns, event.seconds or 0.0, event.text)
            self.last_ids[event.kind] = event_id(event, event.time_ns + offset_ns)
            is_reported = event.kind in event_rules()
            if is_reported and now_ns - event.time_ns < OLDEST_NS and not self._is_planned(event):
                self._add(event, event.time_ns + offset_ns, now_ns)

    def due(self, now_ns: int) -> list[EventSeries]:
        """What is new, and what has gone on since it was reported a minute ago or longer. Once each."""
        self._forget(now_ns)
        due = []
        for one in self._open.values():
            is_time = one.reported_ns is None or now_ns - one.reported_ns >= REPORT_AGAIN_NS
            if one.is_changed and is_time:
                one.is_changed, one.reported_ns = False, now_ns
                due.append(self._series(one))
        return due

    @property
    def _starved_seconds(self) -> float:
        return self.episodes.thresholds["nic-reset.starved_seconds"]

    def _is_planned(self, event: Event) -> bool:
        """Whether it is a reset that was asked for: nobody has to know."""
        return event.kind == "nic-reset" and reset_reason(event, self._starved_seconds) == "planned"

    def _add(self, event: Event, utc_ns: int, now_ns: int) -> None:
        episode, key = self.episodes.feed(event), (event.kind, place_of(event)[1])
        known = self._open.get(key)
        if known is None or event.time_ns - known.last_ns > SERIES_NS:
            if episode:
                self._begin(key, event, episode, utc_ns, now_ns)
            return
        if known.last == event:  # one that lasts is reported again and again
            return
        if episode and episode.first != known.episode.first:
            known.count += 1
        known.episode = episode or known.episode
        if event.time_ns >= known.last_ns:
            known.last_ns, known.last_utc_ns = event.time_ns, max(utc_ns, known.first_utc_ns)
        known.last, known.is_changed = event, True
        if known.words:
            known.words.add(event)

    def _begin(self, key: Place, event: Event, episode: Episode, utc_ns: int, now_ns: int) -> None:
        while self._begun and now_ns - self._begun[0] > OLDEST_NS:
            self._begun.popleft()
        if len(self._begun) >= MOST_PER_HOUR or len(self._open) >= MOST_OPEN:
            self._drop(key, event.time_ns)
            return
        self._begun.append(now_ns)
        is_nic = event.kind == "nic-reset"
        words = NicWords.of(event, self._starved_seconds) if is_nic else None
        id, rule = event_id(event, utc_ns), event_rules()[event.kind]
        self._open[key] = _Open(id, rule, utc_ns, utc_ns, event.time_ns, episode, 1, event, words)

    def _drop(self, key: Place, time_ns: int) -> None:
        """Count what is not reported, each series once."""
        if time_ns - self._unreported.get(key, time_ns - SERIES_NS - 1) > SERIES_NS:
            self.dropped += 1
        self._unreported[key] = time_ns
        if len(self._unreported) > MOST_OPEN:
            self._unreported.pop(next(iter(self._unreported)))

    def _forget(self, now_ns: int) -> None:
        for key, one in [*self._open.items()]:
            if now_ns - one.last_ns > SERIES_NS and not one.is_changed:
                del self._open[key]

    def _series(self, one: _Open) -> EventSeries:
        words = one.words.text(self.queue_cpus, self._busy) if one.words else line_words(one.last)
        return EventSeries(
            id=one.id,
            reason=one.rule.reason,
            message=_message(words, around_command(one.id)),
            first_utc_ns=one.first_utc_ns,
            last_utc_ns=one.last_utc_ns,
            count=one.count,
            tells_pods=one.rule.tells_pods,
        )


def _message(words: str, command: str) -> str:
    """Return what happened and what shows more; long words are cut, and the command never is."""
    room = LONGEST_MESSAGE - len(command) - len(": ")
    return f"{visible_text(words)[:room]}: {command}"
