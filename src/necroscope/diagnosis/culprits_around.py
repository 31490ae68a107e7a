"""Who stands out in windows of a store, with what happened around them, and without damaged segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from necroscope.diagnosis.comparison.baseline import AROUND_NS
from necroscope.diagnosis.culprit import find_culprits
from necroscope.model.culprit import Ranking
from necroscope.profiles.spare import spare
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import events_between


def culprits_around(
    segments: list[StoredSegment],
    windows: Sequence[Selection],
    thresholds: Thresholds,
    damaged: list[Damage],
) -> tuple[Ranking, list[StoredSegment]]:
    """The ranking, and the segments that it could be made of. Errors are those of `find_culprits`."""
    begin_ns, end_ns = min(one.begin_ns for one in windows), max(one.end_ns for one in windows)
    wide = replace(windows[0], begin_ns=begin_ns, end_ns=end_ns).widened(AROUND_NS)
    events = events_between(segments, wide, damaged)
    return spare(lambda some: find_culprits(some, windows, events, thresholds), segments, wide, damaged)
