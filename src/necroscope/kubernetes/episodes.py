"""The recorder's events put together into episodes: what repeats is counted up and not told anew.

A driver writes several lines about one stall, and a device that stalls often stalls again within minutes.
All of it is one Event in the cluster, with a count. How many are told in an hour is bounded; those beyond
are counted. What is past is told by the clock that nobody sets, CLOCK_MONOTONIC.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from necroscope.exporter.reset_reason import reset_reason
from necroscope.kubernetes.cluster_events import LONGEST_MESSAGE
from necroscope.kubernetes.episode import Episode
from necroscope.kubernetes.event_rules import EventRule, event_rules
from necroscope.kubernetes.event_words import Busy, NicWords, line_words
from necroscope.model.advice import around_command
from necroscope.model.event import Event, event_id
from necroscope.model.timestamp import SECOND_NS
from necroscope.model.visible_text import visible_text
from necroscope.signals.queue_cpus import QueueCpus

EPISODE_NS = 600 * SECOND_NS  # without anything for so long, it is over
OCCURRENCE_NS = 10 * SECOND_NS  # the lines of one stall and of the reset behind it
TELL_AGAIN_NS = 60 * SECOND_NS  # an episode that goes on
OLDEST_NS = 3600 * SECOND_NS  # the API server itself keeps events for an hour
MOST_PER_HOUR = 20  # episodes
MOST_OPEN = 100


@dataclass(slots=True)
class _Open:
    """An episode that may go on."""

    id: str
    rule: EventRule
    first_utc_ns: int
    last_utc_ns: int
    last_ns: int
    occurred_ns: int  # when what is counted last began
    count: int
    last: Event
    words: NicWords | None
    told_ns: int | None = None  # when it was last handed on; None: not yet
    is_changed: bool = True


@dataclass(slots=True)
class Episodes:
    """Fed with events as they come; `due` hands on what the cluster has to be told."""

    starved_seconds: float  # nic-reset.starved_seconds of the thresholds
    dropped: int = 0  # because there were too many within an hour
    last_ids: dict[str, str] = field(default_factory=dict)  # of the last event, by kind
    queue_cpus: QueueCpus = field(default_factory=QueueCpus)  # to be fed with every sample
    _open: dict[tuple[str, str], _Open] = field(default_factory=dict)
    _begun: deque[int] = field(default_factory=deque)
    _untold: dict[tuple[str, str], int] = field(default_factory=dict)  # beyond the limit: their last event
    _busy: dict[int, Busy] = field(default_factory=dict)  # by core

    def take(self, events: Sequence[Event], offset_ns: int, now_ns: int) -> None:
        """Events of one moment, which is `now_ns` on their clock; `offset_ns` leads from it to UTC."""
        for event in events:
            if event.kind == "core-saturated" and event.core is not None:
                self._busy[event.core] = Busy(event.time_ns, event.seconds or 0.0, event.text)
            self.last_ids[event.kind] = event_id(event, event.time_ns + offset_ns)
            rule = event_rules().get(event.kind)
            if rule and now_ns - event.time_ns < OLDEST_NS and not self._is_planned(event):
                self._add(rule, event, event.time_ns + offset_ns, now_ns)

    def due(self, now_ns: int) -> list[Episode]:
        """What is new, and what has gone on since it was told a minute ago or longer. Once each."""
        self._forget(now_ns)
        due = []
        for one in self._open.values():
            is_time = one.told_ns is None or now_ns - one.told_ns >= TELL_AGAIN_NS
            if one.is_changed and is_time:
                one.is_changed, one.told_ns = False, now_ns
                due.append(self._episode(one))
        return due

    def _is_planned(self, event: Event) -> bool:
        """Whether it is a reset that was asked for: nobody has to be told."""
        return event.kind == "nic-reset" and reset_reason(event, self.starved_seconds) == "planned"

    def _add(self, rule: EventRule, event: Event, utc_ns: int, now_ns: int) -> None:
        key = event.kind, str(getattr(event, rule.same_by))
        known = self._open.get(key)
        if known is None or event.time_ns - known.last_ns > EPISODE_NS:
            if event.phase != "done":  # which alone is no news
                self._begin(key, rule, event, utc_ns, now_ns)
            return
        if known.last == event:  # one that lasts is told again and again
            return
        if event.phase != "done" and (
            event.time_ns - known.occurred_ns > OCCURRENCE_NS or known.last.phase == "done"
        ):
            known.count += 1
            known.occurred_ns = event.time_ns
        if event.time_ns >= known.last_ns:
            known.last_ns, known.last_utc_ns = event.time_ns, max(utc_ns, known.first_utc_ns)
        known.last, known.is_changed = event, True
        if known.words:
            known.words.add(event)

    def _begin(self, key: tuple[str, str], rule: EventRule, event: Event, utc_ns: int, now_ns: int) -> None:
        while self._begun and now_ns - self._begun[0] > OLDEST_NS:
            self._begun.popleft()
        if len(self._begun) >= MOST_PER_HOUR or len(self._open) >= MOST_OPEN:
            self._drop(key, event.time_ns)
            return
        self._begun.append(now_ns)
        is_nic = event.kind == "nic-reset"
        words = NicWords.of(event, self.starved_seconds) if is_nic else None
        id = event_id(event, utc_ns)
        self._open[key] = _Open(id, rule, utc_ns, utc_ns, event.time_ns, event.time_ns, 1, event, words)

    def _drop(self, key: tuple[str, str], time_ns: int) -> None:
        """Count what is not told, each episode once."""
        if time_ns - self._untold.get(key, time_ns - EPISODE_NS - 1) > EPISODE_NS:
            self.dropped += 1
        self._untold[key] = time_ns
        if len(self._untold) > MOST_OPEN:
            self._untold.pop(next(iter(self._untold)))

    def _forget(self, now_ns: int) -> None:
        for key, one in [*self._open.items()]:
            if now_ns - one.last_ns > EPISODE_NS and not one.is_changed:
                del self._open[key]

    def _episode(self, one: _Open) -> Episode:
        words = one.words.text(self.queue_cpus, self._busy) if one.words else line_words(one.last)
        return Episode(
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
