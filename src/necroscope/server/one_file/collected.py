"""The answers of a file: of the whole range and of chosen seconds, as long as there is room for them.

Answers are added by importance. One that does not fit is left out, and the file says so.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from necroscope.errors import NecroscopeError
from necroscope.model.timestamp import SECOND_US
from necroscope.server.one_file import answer_key
from necroscope.server.one_file.event_seconds import EventSeconds
from necroscope.server.questions.cores import ask_cores
from necroscope.server.questions.culprit import ask_culprit
from necroscope.server.questions.diagnosis import ask_diagnosis
from necroscope.server.questions.events import Events, ask_events
from necroscope.server.questions.explained import Explained
from necroscope.server.questions.failure import Failed, Failure, without_paths
from necroscope.server.questions.flame import ask_flame
from necroscope.server.questions.hosts import Hosts, ask_hosts
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.scope import ask_scope
from necroscope.server.questions.selection import LONGEST_SECONDS, Filters, Range, Tree
from necroscope.server.questions.zombies import ask_zombies

# 15 MB, of which base64 takes a quarter and the page itself half a megabyte.
ROOM_BYTES = 10_500_000
CORE_COLUMNS = 4320  # 12 hours, ten seconds each
ZOMBIE_COLUMNS = 1000
ROWS = 50
MOST_NODES = 60_000  # of a tree in the file
PLAIN = Tree()
DEFAULT_US = 120 * SECOND_US  # web/src/default_range.ts


@dataclass(slots=True)
class Collected:
    """Answers by their keys, as JSON; `room_bytes` is what may still be added, compressed."""

    room_bytes: int = ROOM_BYTES
    answers: dict[str, bytes] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def ask(self, key: str, question: Callable[[], Any]) -> Any:
        """Add the answer, or why there is none; the answer, or None where there is none or no room."""
        if key in self.answers:
            return None
        try:
            answer = question()
        except NecroscopeError as error:
            failure = Failure(error.slug, without_paths(error.what), without_paths(error.hint))
            self._add(key, asdict(Failed(failure)))
            return None
        return answer if self._add(key, answer) else None

    def holds(self, key: str) -> bool:
        """Whether there was room for it."""
        return key in self.answers

    def document(self) -> bytes:
        """All answers as one JSON object."""
        pairs = (json.dumps(key).encode() + b":" + content for key, content in self.answers.items())
        return b'{"answers":{' + b",".join(pairs) + b"}}"

    def _add(self, key: str, answer: Any) -> bool:
        content = TypeAdapter(type(answer)).dump_json(answer)
        size_bytes = len(zlib.compress(content, 6))
        if size_bytes > self.room_bytes:
            return False
        self.room_bytes -= size_bytes
        self.answers[key] = content
        return True


def collect_overview(
    collected: Collected, store: RecordedStore, span: Range
) -> tuple[Events | None, Explained | None]:
    """Events, diagnosis, zombies and cores. NothingRecordedError: there is no such host."""
    store.segments_of(span.host)
    collected.ask(answer_key.HOSTS, lambda: only_host(ask_hosts(store), span))
    events: Events | None = collected.ask(answer_key.EVENTS, lambda: ask_events(store, span, ()))
    diagnosis_key = answer_key.diagnosis_key(span)
    explained: Explained | None = collected.ask(diagnosis_key, lambda: ask_diagnosis(store, span))
    collected.ask(answer_key.ZOMBIES, lambda: ask_zombies(store, span, ZOMBIE_COLUMNS))
    cores_key = answer_key.cores_key(span)
    collected.ask(cores_key, lambda: ask_cores(store, span, CORE_COLUMNS))
    if not collected.holds(cores_key):
        collected.left_out.append("the heatmap of cores: there are too many for a file of 15 MB")
    return events, explained


def only_host(hosts: Hosts, span: Range) -> Hosts:
    """This host and this range: the others of a store are nobody's business who reads the file."""
    own = [
        replace(
            host,
            begin_us=max(host.begin_us, span.begin_us),
            end_us=min(host.end_us, span.end_us),
            is_live=False,
        )
        for host in hosts.hosts
        if host.name == span.host
    ]
    return replace(hosts, hosts=own, damaged=[])


def collect_samples(
    collected: Collected, store: RecordedStore, seconds: EventSeconds, tree: Tree = PLAIN
) -> bool:
    """Whether there was room for the flame graph against quiet seconds; without it nothing else is added."""
    chosen, filters = seconds.chosen, seconds.filters
    for against in ("quiet", ""):
        asked = replace(tree, against=against)
        key = answer_key.flame_key(chosen, filters, asked)
        collected.ask(key, partial(ask_flame, store, chosen, filters, asked, MOST_NODES))
        if against and not collected.holds(key):
            return False
    culprit_key = answer_key.culprit_key(chosen, filters)
    collected.ask(culprit_key, partial(ask_culprit, store, chosen, filters))
    _collect_around(collected, store, seconds)
    return True


def collect_default(collected: Collected, store: RecordedStore, span: Range) -> None:
    """What the moment view shows before anything is chosen: all of a short range, the end of a long one."""
    longest_us = LONGEST_SECONDS * SECOND_US
    is_long = span.end_us - span.begin_us > longest_us
    shown = replace(span, begin_us=span.end_us - DEFAULT_US) if is_long else span
    asked = Filters()
    collected.ask(answer_key.scope_key(shown, asked, ROWS), partial(ask_scope, store, shown, asked, ROWS))
    flame_key = answer_key.flame_key(shown, asked, PLAIN)
    collected.ask(flame_key, partial(ask_flame, store, shown, asked, PLAIN, MOST_NODES))
    collected.ask(answer_key.culprit_key(shown, asked), partial(ask_culprit, store, shown, asked))


def _collect_around(collected: Collected, store: RecordedStore, seconds: EventSeconds) -> None:
    for shown in seconds.shown:
        for filters in (seconds.filters, Filters()):
            key = answer_key.scope_key(shown, filters, ROWS)
            collected.ask(key, partial(ask_scope, store, shown, filters, ROWS))
    if fine := seconds.fine:
        columns = (fine.end_us - fine.begin_us) // SECOND_US
        collected.ask(answer_key.cores_key(fine), partial(ask_cores, store, fine, columns))
