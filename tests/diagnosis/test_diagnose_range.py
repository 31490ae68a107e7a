from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.diagnosis.diagnose_range import diagnose_now, explain_each, symptoms_in
from necroscope.model.event import Event
from necroscope.model.reading import Reading
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.store.segment import Segment
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import StoredEvent, read_events
from tests.diagnosis.scenes import NIC_LINE, THRESHOLDS, scene_of, zombies
from tests.segments import BEGIN_NS
from tests.stored import BOOT_ID, OFFSET_NS, SECOND_NS, anchor_at, event_of, sealed_segment, seconds_of

FULL = ["system"] * 12


def stored(root: Path, *events: Event) -> tuple[StoredSegment, list[StoredEvent]]:
    segment = sealed_segment(root, scene_of(FULL).segment.moments, events)
    return segment, read_events(segment)


def test_the_newest_of_the_gravest_kind_comes_first(tmp_path: Path) -> None:
    later = replace(NIC_LINE, time_ns=NIC_LINE.time_ns + 40 * SECOND_NS)
    _, events = stored(tmp_path, NIC_LINE, later, event_of("core-saturated", 3, core=1))
    assert [one.event for one in symptoms_in(events, THRESHOLDS)] == [later, NIC_LINE]


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
    (found,) = explain_each([segment], events, THRESHOLDS, damaged)
    assert (found.core, found.end_ns) == (core, event.time_ns + OFFSET_NS)
    assert found.begin_ns < found.end_ns and not damaged


def test_a_symptom_without_counters_around_it_is_left_out(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, seconds_of(FULL))
    far = replace(NIC_LINE, time_ns=NIC_LINE.time_ns + 500 * SECOND_NS)
    lonely = StoredEvent("x", far.time_ns + OFFSET_NS, far, segment)
    assert list(explain_each([segment], [lonely], THRESHOLDS, [])) == []


STALLED = (
    "ena 0000:00:05.0 eth0: TX q 0 is paused for too long (threshold 5000000)."
    " Time since last napi 5100000 usec. napi scheduled: 1"
)
FULL_THEN_IDLE = ["idle"] * 3 + ["system"] * 5 + ["idle"] * 4


def look(seconds_later: int, *, line_at: int | None = None) -> Segment:
    """Twelve idle seconds, some time after the recording began, with a line of the driver or without."""
    segment = scene_of(["idle"] * 12, zombies=zombies(*[9] * 13)).segment
    shift_ns = seconds_later * SECOND_NS
    moments = [replace(moment, time_ns=moment.time_ns + shift_ns) for moment in segment.moments]
    if line_at is not None:
        line = LogLine(moments[line_at].time_ns, STALLED, 0, 77)
        log = Reading(KernelLog((line,), 0, "/dev/kmsg"))
        moments[line_at] = replace(
            moments[line_at], readings={**moments[line_at].readings, KERNEL_LOG.id: log}
        )
    labels = replace(segment.labels, boot_id=BOOT_ID)
    return replace(segment, labels=labels, anchor=anchor_at(BEGIN_NS, OFFSET_NS), moments=tuple(moments))


def recorded(root: Path, boot_id: str = BOOT_ID) -> list[StoredSegment]:
    return [sealed_segment(root, scene_of(FULL_THEN_IDLE).segment.moments, [NIC_LINE], boot_id=boot_id)]


def conclusion_now(segment: Segment, stored: list[StoredSegment]) -> str:
    found = diagnose_now(segment, stored, THRESHOLDS, [])
    return found.conclusion if found else ""


def test_what_a_recorder_saw_is_explained_if_the_look_saw_nothing(tmp_path: Path) -> None:
    assert conclusion_now(look(60), recorded(tmp_path)) == "starved-core"


def test_what_the_look_saw_is_newer(tmp_path: Path) -> None:
    assert conclusion_now(look(60, line_at=8), recorded(tmp_path)) == "healthy-node"


def test_what_both_saw_is_explained_by_the_recorder(tmp_path: Path) -> None:
    assert conclusion_now(look(0, line_at=8), recorded(tmp_path)) == "starved-core"


def test_what_was_recorded_hours_ago_or_in_another_boot_is_not_now(tmp_path: Path) -> None:
    assert conclusion_now(look(7200), recorded(tmp_path)) == ""
    other = recorded(tmp_path / "other", boot_id="5c1f5f0e-0000-4000-8000-000000000002")
    assert conclusion_now(look(60), other) == ""


def test_a_look_alone_is_enough() -> None:
    assert conclusion_now(look(0, line_at=8), []) == "healthy-node"
    assert conclusion_now(look(0), []) == ""
