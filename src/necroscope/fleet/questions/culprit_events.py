"""The events of a fleet that are to be compared, each with the samples that its host has shipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.engine.gathering import Gathering
from necroscope.fleet.episodes import gather_episodes
from necroscope.fleet.questions.culprit_work import EventToCompare, ShippedSegment
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.common_culprit import NotCompared
from necroscope.model.timestamp import HOUR_US
from necroscope.signals.thresholds import Thresholds

# Quiet seconds are taken from before the event, 120 of them, and from after it where there are too few.
BEFORE_US, AFTER_US = 300 * 10**6, 180 * 10**6
COUNT = (("rows", "sum", "count(*)"),)
FILE_KEYS = ("host", "boot_id", "segment", "begin_us", "end_us", "name", "bytes", "sha256")
NOT_SHIPPED = "its host has not shipped the samples: necroscope fleet request asks for them"


@dataclass(frozen=True, slots=True)
class ChosenEvents:
    """What is compared, and what is not."""

    events: int  # first ones of episodes, in the range
    chosen: tuple[EventToCompare, ...]
    left_out: int  # for there were too many
    not_compared: tuple[NotCompared, ...]


def choose_events(  # noqa: PLR0913, PLR0917 - what was asked, and of whom
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    span_us: tuple[int, int],
    most: int,
    thresholds: Thresholds,
) -> ChosenEvents:
    """At most so many events with samples: of every host the newest, then of every host the one before it."""
    first = _first_of_episodes(tables, engine, kinds, span_us, thresholds)
    files = _gather_files(tables, engine, first, span_us)
    ready = [
        replace(event, segments=_around(event, files.get((event.host, event.boot_id), ()))) for event in first
    ]
    with_samples = [event for event in ready if _has_window(event)]
    chosen = _by_turns(with_samples)[:most]
    missing = tuple(
        NotCompared(event.host, event.id, NOT_SHIPPED) for event in ready if not _has_window(event)
    )
    return ChosenEvents(len(first), tuple(chosen), len(with_samples) - len(chosen), missing)


def _first_of_episodes(
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    span_us: tuple[int, int],
    thresholds: Thresholds,
) -> list[EventToCompare]:
    """Return the first events of episodes, by host and time: later ones are consequences."""
    columns = ("id", "boot_id", "time_ns", "seconds")
    rows = gather_episodes(tables, engine, kinds, span_us, thresholds, columns).to_pylist()
    names = ("host", "boot_id", "id", "kind", "time_us", "time_ns", "core", "seconds")
    first = [EventToCompare(*(row[name] for name in names)) for row in rows]
    return sorted(first, key=lambda event: (event.host, event.time_us, event.id))


def _gather_files(
    tables: FleetTables, engine: Engine, events: Sequence[EventToCompare], span_us: tuple[int, int]
) -> dict[tuple[str, str], list[ShippedSegment]]:
    """The shipped segments of the hosts of events, by host and boot."""
    begin_us, end_us = max(span_us[0] - HOUR_US, 0), span_us[1] + HOUR_US
    hosts = f"host IN ({_list({event.host for event in events})})"
    found: dict[tuple[Any, ...], list[tuple[str, int, str]]] = {}
    gathering = Gathering("files", FILE_KEYS, COUNT, where=hosts)
    for row in engine.gather(tables, gathering, begin_us, end_us).to_pylist():
        key = tuple(row[name] for name in FILE_KEYS[:5])
        found.setdefault(key, []).append((row["name"], row["bytes"], row["sha256"]))
    by_boot: dict[tuple[str, str], list[ShippedSegment]] = {}
    for (host, boot_id, name, begin, end), files in found.items():
        segment = ShippedSegment(name, begin, end, tuple(sorted(files)))
        by_boot.setdefault((host, boot_id), []).append(segment)
    return by_boot


def _around(event: EventToCompare, segments: Iterable[ShippedSegment]) -> tuple[ShippedSegment, ...]:
    begin_us, end_us = event.time_us - BEFORE_US, event.time_us + AFTER_US
    near = [one for one in segments if one.begin_us < end_us and one.end_us > begin_us]
    return tuple(sorted(near, key=lambda one: (one.begin_us, one.name)))


def _has_window(event: EventToCompare) -> bool:
    """Whether the segment of the event itself is there, or the one right before it."""
    second_us = 10**6
    return any(
        one.begin_us <= event.time_us and one.end_us > event.time_us - second_us for one in event.segments
    )


def _by_turns(events: Sequence[EventToCompare]) -> list[EventToCompare]:
    """A host with many events is one host: each has its turn, the newest of each first."""
    by_host: dict[str, list[EventToCompare]] = {}
    for event in sorted(events, key=lambda event: (-event.time_us, event.id)):
        by_host.setdefault(event.host, []).append(event)
    turns = zip_longest(*(by_host[host] for host in sorted(by_host)))
    return [event for turn in turns for event in turn if event is not None]


def _list(words: Iterable[str]) -> str:
    """Words as a list of SQL."""
    return ", ".join("'" + word.replace("'", "''") + "'" for word in sorted(words)) or "''"
