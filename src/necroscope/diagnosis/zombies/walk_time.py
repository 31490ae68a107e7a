"""How much core time walks over memory cgroups took, by the recorded samples.

There is no harmless way to time the walk of reclaim itself: the one that the kernel has (debugfs
shrinker/*/count, Linux 6.0 with CONFIG_SHRINKER_DEBUG) skips removed cgroups. So it is looked up in the
profile: every sample in a function of rules/walks.toml stands for one sampling period of one core.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.diagnosis.zombies.walks import Walk, is_work, walk_of
from necroscope.errors import StoreError
from necroscope.model.time_range import TimeRange
from necroscope.profiles.recorded_rate import sampling_rate
from necroscope.profiles.tally import CLOCKS
from necroscope.profiles.window import Selection, Window, flame, window
from necroscope.store.store import StoredSegment

MOST_SEGMENTS = 30  # an hour of two minutes each
MOST_SECONDS = 1.0  # that it may take; the newest segments are read first


@dataclass(frozen=True, slots=True)
class WalkTime:
    """Core seconds in an hour, by kind of walk, the most first; and how long was looked at."""

    per_hour: tuple[tuple[Walk, float], ...]
    seconds: float
    samples: int


def walk_time(segments: Sequence[StoredSegment], wanted: TimeRange) -> WalkTime | str:
    """What walks took in the last sealed segments of a range (UTC), or why that is not known."""
    sealed = [
        segment
        for segment in segments
        if not segment.is_open
        and segment.has_profile
        and segment.begin_ns < wanted.end_ns
        and segment.end_ns > wanted.begin_ns
    ]
    if not sealed:
        return "no samples are recorded; necroscope record takes them where perf is"
    seconds, samples = 0.0, 0
    core_seconds: dict[str, float] = {}
    walks: dict[str, Walk] = {}
    deadline = time.monotonic() + MOST_SECONDS
    for segment in reversed(sealed[-MOST_SEGMENTS:]):
        rate = sampling_rate(segment)
        if not rate:
            continue
        if time.monotonic() > deadline:
            break
        selection = Selection(
            max(wanted.begin_ns, segment.begin_ns), min(wanted.end_ns, segment.end_ns), events=CLOCKS
        )
        try:
            found = window([segment], selection, "whole")
        except StoreError:  # damaged, or removed meanwhile: the others tell as well
            continue
        seconds, samples = seconds + selection.seconds, samples + found.samples
        for walk, count in _walks_in(found).items():
            core_seconds[walk.id] = core_seconds.get(walk.id, 0.0) + count / rate
            walks[walk.id] = walk
    if not seconds:
        return "the recorded captures do not tell their sampling rate"
    rows = [(walks[id], taken * 3600 / seconds) for id, taken in core_seconds.items()]
    rows.sort(key=lambda row: -row[1])
    return WalkTime(tuple(rows), seconds, samples)


def _walks_in(found: Window) -> Counter[Walk]:
    """Samples by the outermost walk in their stack."""
    tree = flame(found)
    counts: Counter[Walk] = Counter()
    within: list[Walk | None] = []
    left: list[bool] = []  # in a walk's other work
    for node, parent in enumerate(tree.parent):
        name = tree.name(node)
        kernel = tree.labels[tree.label[node]].kind == "kernel"
        above, out = (within[parent], left[parent]) if node else (None, False)
        walk = above or (walk_of(name) if kernel else None)
        within.append(walk)
        left.append(out or bool(walk and is_work(name)))
        if walk and not left[node] and tree.window.own[node]:
            counts[walk] += tree.window.own[node]
    return counts
