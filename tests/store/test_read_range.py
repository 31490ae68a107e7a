"""Recorded time is one stretch, wherever the segments begin and end."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.time_range import TimeRange
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.store.journal import JOURNAL
from necroscope.store.read_range import read_stretch
from necroscope.store.seal import seal_recorded
from necroscope.store.segment import Moment, Segment
from necroscope.store.store import Store
from tests.segments import BEGIN_NS, kernel_log
from tests.stored import (
    OFFSET_NS,
    SECOND_NS,
    UTC_NS,
    anchor_at,
    moment_of,
    no_profile,
    open_segment,
    sealed_segment,
    seconds_of,
)

MOMENTS = seconds_of(["idle", "system"] * 10)
END_NS = UTC_NS + 20 * SECOND_NS


def read(root: Path, begin: float = 0, end: float = 21) -> list[Segment]:
    """The stretches between two times, in seconds after UTC_NS."""
    begin_ns, end_ns = (UTC_NS + int(second * 1e9) for second in (begin, end))
    return read_stretch(Store(root).segments(), TimeRange(begin_ns, end_ns), (CORES,))


def store_in_parts(root: Path, *parts: list[Moment]) -> None:
    for part in parts:
        sealed_segment(root, part)


def test_several_segments_become_one_and_the_moment_between_them_is_there_once(tmp_path: Path) -> None:
    store_in_parts(tmp_path, MOMENTS[:6], MOMENTS[5:11], MOMENTS[10:])
    (stretch,) = read(tmp_path)
    assert list(stretch.moments) == MOMENTS
    assert stretch.anchor.iso(stretch.begin_ns) == "2026-04-15T10:00:00.000Z"
    assert stretch.labels.hostname == "node-17"


def test_open_and_sealed_ones_together(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:11])
    open_segment(tmp_path, MOMENTS[10:])
    (stretch,) = read(tmp_path)
    assert list(stretch.moments) == MOMENTS


def test_the_wall_clock_that_was_set_separates(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:11])
    ahead = anchor_at(MOMENTS[10].time_ns, OFFSET_NS + 30 * SECOND_NS)
    sealed_segment(tmp_path, MOMENTS[10:], anchor=ahead)
    first, second = read(tmp_path, 0, 60)
    assert (list(first.moments), list(second.moments)) == (MOMENTS[:11], MOMENTS[10:])
    assert second.anchor.iso(second.begin_ns) == "2026-04-15T10:00:40.000Z"


def test_slewing_does_not_separate(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:11])
    sealed_segment(tmp_path, MOMENTS[10:], anchor=anchor_at(MOMENTS[10].time_ns, OFFSET_NS + 5_000_000))
    (stretch,) = read(tmp_path)
    assert list(stretch.moments) == MOMENTS


def test_another_boot_and_another_host_separate(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:6])
    sealed_segment(tmp_path, MOMENTS[5:11], boot_id="another")
    sealed_segment(tmp_path, MOMENTS[10:], boot_id="another", host="node-18")
    assert [len(stretch.moments) for stretch in read(tmp_path)] == [6, 6, 11]


def test_a_range_has_the_moments_it_takes_to_compute_its_rates(tmp_path: Path) -> None:
    store_in_parts(tmp_path, MOMENTS[:11], MOMENTS[10:])
    (stretch,) = read(tmp_path, 8, 12)
    seconds = [(moment.time_ns - BEGIN_NS) // SECOND_NS for moment in stretch.moments]
    assert seconds == [6, 7, 8, 9, 10, 11, 12, 13]


def test_segments_out_of_the_range_are_not_even_opened(tmp_path: Path) -> None:
    store_in_parts(tmp_path, MOMENTS[:6], MOMENTS[5:11], MOMENTS[10:])
    damaged, *_ = Store(tmp_path).segments()
    (damaged.folder / "counters/cores.parquet").write_bytes(b"")
    (stretch,) = read(tmp_path, 14, 18)
    assert len(stretch.moments) == 8
    assert read(tmp_path, 100, 200) == []


def test_only_moments_with_the_sources_asked_for(tmp_path: Path) -> None:
    log = moment_of(0.5, {KERNEL_LOG: kernel_log("line")})
    for segment in (sealed_segment, open_segment):
        root = tmp_path / segment.__name__
        segment(root, [MOMENTS[0], log, *MOMENTS[1:]])
        (stretch,) = read(root)
        assert list(stretch.moments) == MOMENTS


def test_one_that_is_sealed_while_it_is_looked_at_is_read_all_the_same(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    seen = Store(tmp_path).segments()
    seal_recorded(segment, no_profile)
    (stretch,) = read_stretch(seen, TimeRange(UTC_NS, END_NS), (CORES,))
    assert list(stretch.moments) == MOMENTS


@pytest.mark.parametrize("gone", ["all of it", "the journal"])
def test_one_that_is_gone_while_it_is_looked_at_has_no_moments(tmp_path: Path, gone: str) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    seen = Store(tmp_path).segments()
    (segment.folder / JOURNAL).unlink()
    if gone == "all of it":
        (segment.folder / "segment.json").unlink()
    assert read_stretch(seen, TimeRange(UTC_NS, END_NS)) == []
