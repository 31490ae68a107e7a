from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from necroscope.diagnosis.now import diagnose_now
from necroscope.model.reading import Reading
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.store.segment import Segment
from necroscope.store.store import StoredSegment
from tests.diagnosis.scenes import NIC_LINE, THRESHOLDS, scene_of, zombies
from tests.segments import BEGIN_NS
from tests.stored import BOOT_ID, OFFSET_NS, SECOND_NS, anchor_at, sealed_segment

LINE = (
    "ena 0000:00:05.0 eth0: TX q 0 is paused for too long (threshold 5000000)."
    " Time since last napi 5100000 usec. napi scheduled: 1"
)
FULL = ["idle"] * 3 + ["system"] * 5 + ["idle"] * 4


def look(seconds_later: int, *, line_at: int | None = None) -> Segment:
    """Twelve idle seconds, some time after the recording began, with a line of the driver or without."""
    segment = scene_of(["idle"] * 12, zombies=zombies(*[9] * 13)).segment
    shift_ns = seconds_later * SECOND_NS
    moments = [replace(moment, time_ns=moment.time_ns + shift_ns) for moment in segment.moments]
    if line_at is not None:
        line = LogLine(moments[line_at].time_ns, LINE, 0, 77)
        log = Reading(KernelLog((line,), 0, "/dev/kmsg"))
        moments[line_at] = replace(
            moments[line_at], readings={**moments[line_at].readings, KERNEL_LOG.id: log}
        )
    labels = replace(segment.labels, boot_id=BOOT_ID)
    return replace(segment, labels=labels, anchor=anchor_at(BEGIN_NS, OFFSET_NS), moments=tuple(moments))


def recorded(root: Path, boot_id: str = BOOT_ID) -> list[StoredSegment]:
    return [sealed_segment(root, scene_of(FULL).segment.moments, [NIC_LINE], boot_id=boot_id)]


def conclusion(segment: Segment, stored: list[StoredSegment]) -> str:
    found = diagnose_now(segment, stored, THRESHOLDS, [])
    return found.conclusion if found else ""


def test_what_a_recorder_saw_is_explained_if_the_look_saw_nothing(tmp_path: Path) -> None:
    assert conclusion(look(60), recorded(tmp_path)) == "starved-core"


def test_what_the_look_saw_is_newer(tmp_path: Path) -> None:
    assert conclusion(look(60, line_at=8), recorded(tmp_path)) == "healthy-node"


def test_what_both_saw_is_explained_by_the_recorder(tmp_path: Path) -> None:
    assert conclusion(look(0, line_at=8), recorded(tmp_path)) == "starved-core"


def test_what_was_recorded_hours_ago_or_in_another_boot_is_not_now(tmp_path: Path) -> None:
    assert conclusion(look(7200), recorded(tmp_path)) == ""
    other = recorded(tmp_path / "other", boot_id="5c1f5f0e-0000-4000-8000-000000000002")
    assert conclusion(look(60), other) == ""


def test_a_look_alone_is_enough() -> None:
    assert conclusion(look(0, line_at=8), []) == "healthy-node"
    assert conclusion(look(0), []) == ""
