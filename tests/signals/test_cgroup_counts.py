"""Zombies are counted once, and how fast they grow is computed once: all who show it read the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from necroscope.cli.main import main
from necroscope.exporter.meter import Meter
from necroscope.findings.zombie_memory_cgroups import zombie_memory_cgroups
from necroscope.fleet.ship.summary import summarise
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify import quantities
from necroscope.remedies.verify.observe import Level, Recording, observe, observe_level
from necroscope.signals.cgroup_counts import CgroupCounts, growth_of, over, recorded_counts, stored_counts
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.read_range import read_stretch
from necroscope.store.segment import Moment
from necroscope.store.store import StoredSegment
from tests.segments import BEGIN_NS, evidence, look
from tests.stored import HOST, SECOND_NS, UTC_NS, anchor_at, moment_of, open_segment, sealed_segment


def counted(second: float, dying: int) -> Moment:
    memory = HierarchyCount("memory (v1)", 1, dying + 10, 10, dying, "/proc/cgroups")
    return moment_of(second, {MEMORY_CGROUPS: MemoryCgroups(memory, (), 1000 + dying)})


def seconds(begin: int, end: int) -> TimeRange:
    return TimeRange(UTC_NS + begin * SECOND_NS, UTC_NS + end * SECOND_NS)


def part(root: Path, begin: int, end: int, *, is_open: bool = False) -> StoredSegment:
    make = open_segment if is_open else sealed_segment
    moments = [counted(second, second) for second in range(begin, end + 1)]
    return make(root, moments, anchor=anchor_at(moments[0].time_ns))


def test_sealed_and_open_segments_are_one_series(tmp_path: Path) -> None:
    segments = [part(tmp_path, 0, 30), part(tmp_path, 30, 60), part(tmp_path, 60, 90, is_open=True)]
    counts = recorded_counts(segments, seconds(0, 1000))
    assert [count.time_ns for count in counts] == sorted(count.time_ns for count in counts)
    assert {count.dying for count in counts} == set(range(91))
    assert all(count.tracked == count.dying + 10 and count.in_use == 10 for count in counts)
    assert all(count.percpu_bytes == 1000 + count.dying for count in counts)


def test_only_the_range_is_read(tmp_path: Path) -> None:
    segments = [part(tmp_path, 0, 30), part(tmp_path, 30, 60)]
    counts = recorded_counts(segments, seconds(20, 40))
    assert {(count.time_ns - BEGIN_NS) // SECOND_NS for count in counts} == set(range(20, 40))


def test_a_damaged_segment_is_left_out(tmp_path: Path) -> None:
    segments = [part(tmp_path, 0, 30), part(tmp_path, 30, 60)]
    (segments[0].folder / "counters/memory-cgroups.parquet").write_bytes(b"PAR1 not")
    counts = recorded_counts(segments, seconds(0, 1000))
    assert {count.dying for count in counts} == set(range(30, 61))


def test_a_day_is_read(tmp_path: Path) -> None:
    """As many segments as an hour has, read as often as a day has of them."""
    day = [part(tmp_path, 120 * n, 120 * n + 120) for n in range(30)]
    for _ in range(10):
        counts = recorded_counts(day, seconds(0, 4000))
    assert 200 <= len(counts) <= 288


def test_of_many_segments_some_are_read(tmp_path: Path) -> None:
    many = [part(tmp_path, 2 * n, 2 * n + 1) for n in range(400)]
    counts = recorded_counts(many, seconds(0, 4000))
    assert len(counts) == 288
    assert (counts[0].dying, counts[-1].dying) == (1, 799)


END = "2026-04-15T10:10:00Z"
STEP, PER_STEP, PURGED_AT = 4, 6, 60
# Six every four seconds: 1.5 a second. A purge after four minutes leaves a third.
DYING = [3000 + PER_STEP * n - (2400 if n > PURGED_AT else 0) for n in range(150)]
PER_SECOND = PER_STEP / STEP


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> StoredSegment:
    moments = [counted(STEP * n, dying) for n, dying in enumerate(DYING)]
    return sealed_segment(tmp_path_factory.mktemp("leaking") / "store", moments)


def moments_of(segment: StoredSegment) -> list[Moment]:
    (found,) = read_stretch([segment], TimeRange(segment.begin_ns, segment.end_ns + 1))
    return list(found.moments)


def test_live_recorded_and_stored_counts_are_the_same(leaking: StoredSegment) -> None:
    live = CgroupCounts(load_thresholds(None))
    fed = [live.feed(sample) for sample in moments_of(leaking)]
    (segment,) = read_stretch([leaking], TimeRange(leaking.begin_ns, leaking.end_ns + 1))
    assert fed == over(segment) == stored_counts(leaking)
    assert [count.dying for count in over(segment)] == DYING


def test_a_window_shorter_than_the_pace_is_kept_empty(leaking: StoredSegment) -> None:
    live = CgroupCounts({**load_thresholds(None), "wall.rate_seconds": 5.0})
    for second in range(30):
        assert live.feed(counted(second, 3))
    assert len(live.recent) <= 1


def test_growth_is_that_since_the_purge(leaking: StoredSegment) -> None:
    growth = growth_of(stored_counts(leaking))
    assert growth and growth.after_drop
    assert growth.slope.value == pytest.approx(PER_SECOND)
    assert growth_of([]) is None


def test_metric_zombies_and_verify_agree_on_the_growth(
    leaking: StoredSegment, capsys: pytest.CaptureFixture[str]
) -> None:
    meter = Meter(load_thresholds(None))
    for moment in moments_of(leaking):
        meter.observe(moment)
    family = "necroscope_memory_cgroup_zombie_growth_per_second"
    assert [one.value for one in meter.samples() if one.family == family] == [pytest.approx(PER_SECOND)]
    body = zombies(leaking, capsys)
    assert body["leak_rate"]["value"] == pytest.approx(60 * PER_SECOND)
    recording = Recording([leaking], load_thresholds(None), [])
    window = TimeRange(leaking.begin_ns, leaking.end_ns)
    assert observe(quantities.ZOMBIE_GROWTH, "", recording, window).per_second == pytest.approx(PER_SECOND)


def test_metric_finding_zombies_verify_and_fleet_agree_on_the_count(
    leaking: StoredSegment, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = moments_of(leaking)
    meter = Meter(load_thresholds(None))
    meter.observe(moments[-1])
    metric = {one.labels: one.value for one in meter.samples() if one.family == "necroscope_memory_cgroups"}
    assert metric["memory (v1)", "zombie"] == DYING[-1]
    (segment,) = read_stretch([leaking], TimeRange(leaking.begin_ns, leaking.end_ns + 1))
    facts = evidence(*look(zombie_memory_cgroups, segment))
    assert (facts["zombies"], facts["zombies added while looking"]) == (DYING[-1], DYING[-1] - DYING[0])
    assert zombies(leaking, capsys)["counts"]["dying"] == DYING[-1]
    level = observe_level(
        Recording([leaking], load_thresholds(None), []), TimeRange(leaking.begin_ns, leaking.end_ns + 1)
    )
    assert isinstance(level, Level) and level.value == DYING[-3], "the median of the last five"
    summary, _ = summarise(leaking, HOST, "", load_thresholds(None), is_clock_right=True)
    assert (summary.zombies, summary.tracked) == (DYING[-1], DYING[-1] + 10)


def zombies(segment: StoredSegment, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `zombies --json` says of a recording."""
    main(["zombies", "--store", str(segment.folder.parents[1]), "--host", HOST, "-e", END, "--json"])
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body
