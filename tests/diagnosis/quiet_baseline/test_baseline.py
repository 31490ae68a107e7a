"""The quiet seconds that a flame graph is compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.diagnosis.quiet_baseline.baseline import quiet_baseline
from necroscope.errors import NoSamplesError
from necroscope.profiles.window import Selection
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import StoredSegment
from tests.diagnosis.sampled_seconds import Work, sampled_segment
from tests.stored import SECOND_NS, UTC_NS

HOUR_NS = 3600 * SECOND_NS


def work(core: int, second: int) -> Work:
    return {f"python: read > walk_{second}": 0.5}


def seconds_of(segments: list[StoredSegment], first: int, shift_ns: int = 0) -> list[int]:
    """The seconds whose samples a window of 5 s is compared with, by the functions that ran in them."""
    begin_ns = UTC_NS + first * SECOND_NS + shift_ns
    selection = Selection(begin_ns, begin_ns + 5 * SECOND_NS)
    found = quiet_baseline(segments, selection, load_thresholds(None), [])
    labels = {label for stack, _ in found.window.stacks.folded() for label in stack}
    return sorted(int(label.removeprefix("walk_")) for label in labels if label.startswith("walk_"))


def test_seconds_before_and_where_they_are_few_those_after(tmp_path: Path) -> None:
    segments = [sampled_segment(tmp_path, work, seconds=range(n, n + 20)) for n in (0, 20, 40)]
    assert seconds_of(segments, 30) == [*range(30), *range(35, 60)]


def test_no_second_farther_than_ten_minutes(tmp_path: Path) -> None:
    near = [sampled_segment(tmp_path, work, seconds=range(n, n + 20)) for n in (700, 720)]
    far = [sampled_segment(tmp_path, work, seconds=range(n, n + 20)) for n in (0, 5000)]
    edge = sampled_segment(tmp_path, work, seconds=range(100, 140))
    segments = [far[0], edge, *near, far[1]]
    assert seconds_of(segments, 725) == [*range(125, 140), *range(700, 725), *range(730, 740)]


def test_by_the_clock_of_the_recording_where_the_wall_clock_was_set(tmp_path: Path) -> None:
    early = sampled_segment(tmp_path, work, seconds=range(20))
    late = sampled_segment(tmp_path, work, seconds=range(20, 40))
    late = replace(
        late,
        begin_ns=late.begin_ns + HOUR_NS,
        end_ns=late.end_ns + HOUR_NS,
        offset_ns=late.offset_ns + HOUR_NS,
    )
    assert seconds_of([early, late], 30, HOUR_NS) == [*range(30), *range(35, 40)]


def test_without_any_it_is_an_error(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, work, seconds=range(5))
    with pytest.raises(NoSamplesError, match="no quiet second"):
        seconds_of([segment], 0)
