"""A sealed segment in one row, from its own files alone: the same row whenever it is made."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

from necroscope import _native
from necroscope.diagnosis.zombies.wall import memory_cost
from necroscope.diagnosis.zombies.zombie_memory import zombie_memory
from necroscope.fleet.ship.parts import ToldEvent
from necroscope.model.fleet.segment_summary import SegmentSummary
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.cgroup_counts import Count, stored_counts
from necroscope.signals.cpu_saturation import SaturationRule
from necroscope.signals.saturated_seconds import IN_KERNEL, kernel_seconds
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.reclaim import RECLAIM
from necroscope.store.counters import READINGS
from necroscope.store.seal import COUNTERS
from necroscope.store.segment import MAX_STEP_NS
from necroscope.store.segment_damage import unreadable_file
from necroscope.store.store import StoredSegment, has_file
from necroscope.store.stored_events import read_events


def summarise(
    segment: StoredSegment, host: str, facts: str, thresholds: Thresholds, *, is_clock_right: bool
) -> tuple[SegmentSummary, list[ToldEvent]]:
    """The row of a sealed segment and its events. StoreError or CannotLookError where it is damaged."""
    labels = segment.description.host
    counts = stored_counts(segment)
    events = [ToldEvent(one.id, one.utc_ns // 1000, one.event) for one in read_events(segment)]
    summary = SegmentSummary(
        host=host,
        segment=segment.folder.name,
        boot_id=segment.boot_id,
        begin_us=segment.begin_ns // 1000,
        end_us=segment.end_ns // 1000,
        recorded_us=_recorded_us(segment),
        synchronised=is_clock_right,
        cores=labels.cores_online,
        samples=segment.description.profile.samples,
        saturated_core_us=_saturated_core_us(segment, SaturationRule.of(thresholds)),
        zombies=counts[-1].dying if counts else None,
        tracked=counts[-1].tracked if counts else None,
        in_use=counts[-1].in_use if counts else None,
        wall_level=_wall_level(segment, counts, thresholds["wall.memory_ratio"]) if counts else None,
        facts=facts,
        events=dict(Counter(one.event.kind for one in events)),
    )
    return summary, events


def _recorded_us(segment: StoredSegment) -> int:
    """What its moments cover. One that comes late leaves a hole, which is not counted."""
    columns = _table(segment, READINGS, ["time"])
    times = sorted(set(columns["time"])) if columns else []
    lengths = (after - before for before, after in pairwise(times))
    recorded_ns: int = sum(length for length in lengths if length <= MAX_STEP_NS)
    return recorded_ns // 1000


def _saturated_core_us(segment: StoredSegment, rule: SaturationRule) -> int | None:
    """Whole seconds in which a core was in the kernel, summed over the cores."""
    begin_ns = segment.begin_ns - segment.begin_ns % SECOND_NS
    states = kernel_seconds([segment], begin_ns, segment.end_ns, rule)
    if states.damaged:
        raise states.damaged[0].error
    if not states.states:
        return None
    return sum(row.count(IN_KERNEL) for row in states.states.values()) * SECOND_NS // 1000


def _wall_level(segment: StoredSegment, counts: list[Count], ratio: float) -> int | None:
    """At so many tracked cgroups zombies take too much memory here; what reads cost is not recorded."""
    labels, last = segment.description.host, counts[-1]
    memory = _table(segment, f"{RECLAIM.id}.parquet", ["total_bytes"])
    total_bytes = next(reversed(memory["total_bytes"]), None) if memory else None
    each = zombie_memory(last.dying, counts, labels.kernel, labels.cores_possible)
    return memory_cost(last.in_use, each, total_bytes, ratio).level


def _table(segment: StoredSegment, name: str, columns: list[str]) -> dict[str, list[Any]]:
    """Columns of a table of the counters; nothing where the segment has no such table."""
    if not has_file(segment, f"{COUNTERS}/{name}"):
        return {}
    path = segment.folder / COUNTERS / name
    try:
        found = _native.read_table(path, columns)
    except OSError as error:
        raise unreadable_file(path, error) from error
    return found if all(name in found for name in columns) else {}
