from __future__ import annotations

from pathlib import Path

from necroscope.diagnosis.zombies.recorded_counts import recorded_counts
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.segment import Moment
from necroscope.store.store import StoredSegment
from tests.segments import BEGIN_NS
from tests.stored import SECOND_NS, UTC_NS, anchor_at, moment_of, open_segment, sealed_segment


def counted(second: float, dying: int) -> Moment:
    memory = HierarchyCount("memory (v1)", 1, dying + 10, 10, dying, "/proc/cgroups")
    return moment_of(second, {MEMORY_CGROUPS: MemoryCgroups(memory, (), 1000 + dying)})


def part(root: Path, begin: int, end: int, *, is_open: bool = False) -> StoredSegment:
    make = open_segment if is_open else sealed_segment
    moments = [counted(second, second) for second in range(begin, end + 1)]
    return make(root, moments, anchor=anchor_at(moments[0].time_ns))


def test_sealed_and_open_segments_are_one_series(tmp_path: Path) -> None:
    segments = [part(tmp_path, 0, 30), part(tmp_path, 30, 60), part(tmp_path, 60, 90, is_open=True)]
    counts = recorded_counts(segments, UTC_NS, UTC_NS + 1000 * SECOND_NS)
    assert [count.time_ns for count in counts] == sorted(count.time_ns for count in counts)
    assert {count.dying for count in counts} == set(range(91))
    assert all(count.tracked == count.dying + 10 and count.in_use == 10 for count in counts)
    assert all(count.percpu_bytes == 1000 + count.dying for count in counts)


def test_only_the_range_is_read(tmp_path: Path) -> None:
    segments = [part(tmp_path, 0, 30), part(tmp_path, 30, 60)]
    counts = recorded_counts(segments, UTC_NS + 20 * SECOND_NS, UTC_NS + 40 * SECOND_NS)
    assert {(count.time_ns - BEGIN_NS) // SECOND_NS for count in counts} == set(range(20, 40))


def test_a_damaged_segment_is_left_out(tmp_path: Path) -> None:
    segments = [part(tmp_path, 0, 30), part(tmp_path, 30, 60)]
    (segments[0].folder / "counters/memory-cgroups.parquet").write_bytes(b"PAR1 not")
    counts = recorded_counts(segments, UTC_NS, UTC_NS + 1000 * SECOND_NS)
    assert {count.dying for count in counts} == set(range(30, 61))


def test_a_day_is_read(tmp_path: Path) -> None:
    """As many segments as an hour has, read as often as a day has of them."""
    day = [part(tmp_path, 120 * n, 120 * n + 120) for n in range(30)]
    for _ in range(10):
        counts = recorded_counts(day, UTC_NS, UTC_NS + 4000 * SECOND_NS)
    assert 200 <= len(counts) <= 288


def test_of_many_segments_some_are_read(tmp_path: Path) -> None:
    many = [part(tmp_path, 2 * n, 2 * n + 1) for n in range(400)]
    counts = recorded_counts(many, UTC_NS, UTC_NS + 4000 * SECOND_NS)
    assert len(counts) == 288
    assert (counts[0].dying, counts[-1].dying) == (1, 799)
