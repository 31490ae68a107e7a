"""One host: bring the samples around its events and merge their stacks, wherever the engine has it run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from necroscope.errors import NecroscopeError, NoSamplesError
from necroscope.fleet.call_trees import CallTrees, merge_profiles, merge_trees, parts_of
from necroscope.fleet.place.place import open_place
from necroscope.fleet.questions.culprit_work import EventToCompare, brought_store, window_of
from necroscope.fleet.tables.segments_brought import bring_files
from necroscope.model.fleet.common_culprit import NotCompared
from necroscope.profiles.window import Selection, Split, recorded_seconds
from necroscope.store.store import StoredSegment, read_segment
from necroscope.store.wall_time import with_right_clocks


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
        segments = _brought(looking, events)
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


def _brought(looking: Looking, events: Sequence[EventToCompare]) -> list[StoredSegment]:
    place, store = open_place(looking.address), brought_store(looking.address)
    wanted = {one.name: one for event in events for one in event.segments}
    folders = [bring_files(place, events[0].host, name, one.files, store) for name, one in wanted.items()]
    segments = with_right_clocks([read_segment(folder) for folder in folders])
    return [segment for segment in segments if segment.boot_id == events[0].boot_id]


def _window(looking: Looking, event: EventToCompare, segments: Sequence[StoredSegment]) -> Selection:
    window = window_of(event, segments, looking.window_seconds)
    return replace(window, idle=looking.idle, cpus=() if looking.is_every_core else window.cpus)
