"""What ran in the seconds before events across the fleet, as one flame graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from necroscope.errors import NecroscopeError, NoSamplesError
from necroscope.fleet.call_trees import CallTrees, merge_profiles, merge_trees, parts_of
from necroscope.fleet.engine.engine import Engine
from necroscope.fleet.questions.culprit_events import ChosenEvents, choose_events
from necroscope.fleet.questions.culprit_work import EventToCompare, bring_recordings, window_of
from necroscope.fleet.tables.fleet_tables import FleetTables
from necroscope.model.fleet.common_culprit import NotCompared
from necroscope.model.fleet.fleet_flame import FleetFlame
from necroscope.profiles.window import Selection, Split, recorded_seconds
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import StoredSegment

MOST_NOT_MERGED = 100


@dataclass(frozen=True, slots=True)
class FlameWish:
    """What to look at."""

    window_seconds: float = 5.0  # before an event
    most: int = 1000  # events
    split: Split = "comm"
    is_every_core: bool = False  # else that of the event, where it has one
    idle: bool = False


def ask_flame(
    tables: FleetTables,
    engine: Engine,
    kinds: Sequence[str],
    span_us: tuple[int, int],
    wish: FlameWish | None = None,
) -> tuple[FleetFlame, CallTrees]:
    """What the graph was made of, and its stacks. A second of a host is in it once, whatever its events."""
    wish = wish or FlameWish()
    chosen = choose_events(tables, engine, kinds, span_us, wish.most, load_thresholds(None))
    looking = Looking(tables.address, wish.window_seconds, wish.split, wish.is_every_core, wish.idle)
    hosts = _by_host(chosen.chosen)
    if hosts:
        done = engine.reduce(partial(look_at_host, looking), put_together, hosts)
    else:
        done = EventTrees(merge_trees([]), 0, 0, 0, ())
    return _conclude(chosen, done, kinds, span_us), done.trees


def _by_host(events: Sequence[EventToCompare]) -> list[tuple[EventToCompare, ...]]:
    """The events of each host and boot together: their seconds may overlap."""
    by_host: dict[tuple[str, str], list[EventToCompare]] = {}
    for event in events:
        by_host.setdefault((event.host, event.boot_id), []).append(event)
    return [tuple(by_host[key]) for key in sorted(by_host)]


def _conclude(
    chosen: ChosenEvents, done: EventTrees, kinds: Sequence[str], span_us: tuple[int, int]
) -> FleetFlame:
    return FleetFlame(
        kinds=tuple(kinds),
        begin_us=span_us[0],
        end_us=span_us[1],
        events=chosen.events,
        merged=done.events,
        hosts=done.hosts,
        seconds=done.recorded_us / 1e6,
        samples=done.trees.samples,
        idle=done.trees.idle,
        unknown=done.trees.unknown,
        not_merged=(*done.failed, *chosen.not_compared)[:MOST_NOT_MERGED],
        note=_note(chosen, done),
    )


def _note(chosen: ChosenEvents, done: EventTrees) -> str:
    if not chosen.events:
        return "no such event in this time"
    notes = []
    if missing := len(chosen.not_compared) + len(done.failed):
        notes.append(f"the samples of {missing:,} of {chosen.events:,} events are not here")
    if chosen.left_out:
        notes.append(f"{chosen.left_out:,} older events were left out (--most)")
    return "; ".join(notes)


@dataclass(frozen=True, slots=True)
class Looking:
    """What is looked at, and from where samples come."""

    address: str  # of the place
    window_seconds: float
    split: Split
    is_every_core: bool
    idle: bool


@dataclass(frozen=True, slots=True)
class EventTrees:
    """The stacks of some events, and of which there are none."""

    trees: CallTrees
    events: int
    hosts: int
    recorded_us: int  # whole, so that the order of the sum does not matter
    failed: tuple[NotCompared, ...]


def look_at_host(looking: Looking, events: Sequence[EventToCompare]) -> EventTrees:
    """The stacks around the events of one boot of a host. No error of a place or of a recording leaves it."""
    try:
        segments = bring_recordings(looking.address, events)
        windows = apart([_window(looking, event, segments) for event in events])
        parts = [part for window in windows for part in parts_of(segments, window)]
        trees = merge_profiles(looking.split, parts)
        if trees.unreadable:
            raise NoSamplesError(trees.unreadable[0].why)
    except NecroscopeError as error:
        failed = tuple(NotCompared(event.host, event.id, error.what) for event in events)
        return EventTrees(merge_trees([]), 0, 0, 0, failed)
    recorded_us = sum(round(recorded_seconds(segments, window) * 1e6) for window in windows)
    return EventTrees(trees, len(events), 1, recorded_us, ())


def put_together(parts: Sequence[EventTrees]) -> EventTrees:
    """Several as one; a host that has booted meanwhile counts twice."""
    return EventTrees(
        merge_trees([one.trees for one in parts]),
        sum(one.events for one in parts),
        sum(one.hosts for one in parts),
        sum(one.recorded_us for one in parts),
        tuple(bad for one in parts for bad in one.failed),
    )


def apart(windows: Sequence[Selection]) -> list[Selection]:
    """The same time without overlaps, so that no sample counts twice; windows of all cores win."""
    everywhere = _joined(one for one in windows if not one.cpus)
    by_core: dict[tuple[int, ...], list[Selection]] = {}
    for window in windows:
        if window.cpus:
            by_core.setdefault(window.cpus, []).append(window)
    rest = [window for core in sorted(by_core) for window in _joined(by_core[core])]
    for whole in everywhere:
        rest = [part for window in rest for part in _without(window, whole)]
    return [*everywhere, *rest]


def _joined(windows: Iterable[Selection]) -> list[Selection]:
    joined: list[Selection] = []
    for window in sorted(windows, key=lambda one: one.begin_ns):
        if joined and window.begin_ns <= joined[-1].end_ns:
            joined[-1] = replace(joined[-1], end_ns=max(joined[-1].end_ns, window.end_ns))
        else:
            joined.append(window)
    return joined


def _without(window: Selection, other: Selection) -> list[Selection]:
    before = replace(window, end_ns=min(window.end_ns, other.begin_ns))
    after = replace(window, begin_ns=max(window.begin_ns, other.end_ns))
    return [part for part in (before, after) if part.begin_ns < part.end_ns]


def _window(looking: Looking, event: EventToCompare, segments: Sequence[StoredSegment]) -> Selection:
    window = window_of(event, segments, looking.window_seconds)
    return replace(window, idle=looking.idle, cpus=() if looking.is_every_core else window.cpus)
