from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.diagnosis.explained import explain_each, symptoms_in
from necroscope.model.event import Event
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, read_events
from tests.diagnosis.scenes import NIC_LINE, scene_of
from tests.stored import OFFSET_NS, SECOND_NS, event_of, sealed_segment, seconds_of

FULL = ["system"] * 12


def stored(root: Path, *events: Event) -> tuple[StoredSegment, list[StoredEvent]]:
    segment = sealed_segment(root, scene_of(FULL).segment.moments, events)
    return segment, read_events(segment)


def test_the_newest_of_the_gravest_kind_comes_first(tmp_path: Path) -> None:
    later = replace(NIC_LINE, time_ns=NIC_LINE.time_ns + 40 * SECOND_NS)
    _, events = stored(tmp_path, NIC_LINE, later, event_of("core-saturated", 3, core=1))
    assert [one.event for one in symptoms_in(events, load_thresholds(None))] == [later, NIC_LINE]


@pytest.mark.parametrize(
    ("event", "core"),
    [
        (NIC_LINE, 0),
        (replace(NIC_LINE, queue=1), 1),
        (replace(NIC_LINE, queue=None), None),
        (replace(NIC_LINE, core=1), 1),
        (event_of("cgroup-leak", 8, unit="ecs.service"), None),
    ],
)
def test_where_it_was_felt(tmp_path: Path, event: Event, core: int | None) -> None:
    segment, events = stored(tmp_path, event)
    damaged: list[Damage] = []
    (found,) = explain_each([segment], events, load_thresholds(None), damaged)
    assert (found.core, found.end_ns) == (core, event.time_ns + OFFSET_NS)
    assert found.begin_ns < found.end_ns and not damaged


def test_a_symptom_without_counters_around_it_is_left_out(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(FULL))
    far = replace(NIC_LINE, time_ns=NIC_LINE.time_ns + 500 * SECOND_NS)
    lonely = StoredEvent("x", far.time_ns + OFFSET_NS, far, segment)
    assert list(explain_each([segment], [lonely], load_thresholds(None), [])) == []
