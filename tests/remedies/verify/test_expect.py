"""What is said about verifying before anything is changed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from necroscope.model.amounts import amount_text, time_text
from necroscope.model.plan import Goal
from necroscope.remedies.verify.expect import NOT_RECORDED, expect, expect_goals
from necroscope.remedies.verify.observe import Recording
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.store import Store
from tests.remedies.on_record import plan_of
from tests.stored import HOST, UTC_NS, event_of, moment_of, sealed_segment

DAY = 86400


def counted(dying: int) -> MemoryCgroups:
    return MemoryCgroups(HierarchyCount("memory", 1, dying, 0, dying, ""), (), None)


def recorded(root: Path) -> Recording:
    return Recording(Store(root).segments(), load_thresholds(None), [])


def test_rare_events_take_days(tmp_path: Path) -> None:
    moments = [moment_of(second, {MEMORY_CGROUPS: counted(0)}) for second in range(0, 14 * DAY + 1, DAY // 8)]
    events = [event_of("nic-reset", (2 * n + 1) * DAY, device="eth0", phase="stall") for n in range(7)]
    sealed_segment(tmp_path, moments, events)
    now_ns = UTC_NS + 14 * DAY * 10**9
    (said,) = expect_goals([Goal("nic-resets", "")], recorded(tmp_path), now_ns)
    assert said == (
        "nic-resets: 0.5 resets a day (0.224 to 0.982) in 14 days:"
        " 8.5 days without one will show that it is gone"
    )


def test_a_steady_leak_takes_seconds(tmp_path: Path) -> None:
    moments = [moment_of(second, {MEMORY_CGROUPS: counted(40 * second)}) for second in range(31)]
    sealed_segment(tmp_path, moments)
    goals = [
        Goal("zombie-growth", ""),
        Goal("zombies", ""),
        Goal("reclaim", ""),
        Goal("unit-runs", "x.service"),
    ]
    said = expect_goals(goals, recorded(tmp_path), UTC_NS + 30 * 10**9)
    assert said[0].startswith("zombie-growth: 144,000 cgroups an hour (14")
    assert said[0].endswith("in 30 s: 8 s will show that it is gone")
    assert said[1:] == (
        "zombies: 1,120 now",
        f"reclaim: {NOT_RECORDED}",
        f"unit-runs of x.service: {NOT_RECORDED}",
    )


def test_what_is_quiet_is_called_so(tmp_path: Path) -> None:
    moments = [moment_of(second, {MEMORY_CGROUPS: counted(3)}) for second in range(31)]
    sealed_segment(tmp_path, moments)
    goals = [Goal("zombie-growth", ""), Goal("nic-resets", "")]
    assert expect_goals(goals, recorded(tmp_path), UTC_NS + 30 * 10**9) == (
        "zombie-growth: 0 cgroups an hour in 30 s: it is not troubled now",
        "nic-resets: 0 resets a day in 30 s: it is not troubled now",
    )


def test_a_plan_without_a_recording_is_still_told(tmp_path: Path) -> None:
    plan = plan_of([Goal("zombies", "")], host=HOST)
    assert expect(plan, tmp_path / "none", Host()) == (f"zombies: {NOT_RECORDED}",)
    assert expect(plan, None, Host()) == (f"zombies: {NOT_RECORDED}",)
    assert time.time_ns() > UTC_NS


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.25, "0.25 s"),
        (8, "8 s"),
        (119, "119 s"),
        (120, "2 min"),
        (5400, "90 min"),
        (9000, "2.5 h"),
        (90_000, "25 h"),
        (8.5 * DAY, "8.5 days"),
        (59.3 * DAY, "59 days"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert time_text(seconds) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0"), (0.5, "0.5"), (12.345, "12.3"), (144_000.4, "144,000"), (-30, "-30")]
)
def test_amounts_in_words(value: float, words: str) -> None:
    assert amount_text(value) == words
