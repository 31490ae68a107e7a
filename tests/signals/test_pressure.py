from __future__ import annotations

import pytest

from necroscope.findings.examine import examine
from necroscope.findings.reclaim_pressure import reclaim_pressure
from necroscope.signals.pressure import waited_ratio
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.pressure import PRESSURE, Pressure, Stall
from necroscope.sources.reclaim import RECLAIM, Reclaim
from tests.segments import evidence, look, segment_of

SCANNED = [Reclaim(0, pages, 0, 0, 0, 0, 1 << 30, 1 << 34) for pages in (0, 5_000, 9_000)]


def pressure(memory_us: int | None) -> Pressure:
    return Pressure(Stall(memory_us and memory_us // 2, 0), Stall(0, 0), Stall(memory_us, 0), None)


def test_doctor_and_the_detector_agree() -> None:
    segment = segment_of({RECLAIM: SCANNED, PRESSURE: [pressure(us) for us in (0, 100_000, 500_000)]})
    assert waited_ratio(segment, "memory") == pytest.approx(0.25)
    (finding,) = look(reclaim_pressure, segment)
    assert evidence(finding)["time some task waited for memory"] == 0.25
    seen = {one.name: one.value for one in examine(segment, load_thresholds(None)).seen}
    assert seen["time some task waited for"] == "cpu 12%, io 0%, memory 25%"


def test_what_was_read_once_or_not_at_all_has_no_ratio() -> None:
    once = segment_of({RECLAIM: SCANNED, PRESSURE: [pressure(0)]})
    silent = segment_of({PRESSURE: [pressure(None), pressure(None)]})
    assert waited_ratio(once, "memory") is None and waited_ratio(silent, "memory") is None
    (finding,) = look(reclaim_pressure, once)
    assert "time some task waited for memory" not in evidence(finding)
