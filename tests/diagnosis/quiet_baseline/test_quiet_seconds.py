from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from necroscope.diagnosis.quiet_baseline.quiet_seconds import MOST, quiet_seconds
from necroscope.model.event import Event
from necroscope.model.time_range import TimeRange
from necroscope.signals.thresholds import load_thresholds
from necroscope.store.store import StoredSegment
from tests.diagnosis.sampled_seconds import sampled_segment
from tests.segments import BEGIN_NS
from tests.stored import SECOND_NS, event_of

WINDOW = range(50, 56)
THRESHOLDS = load_thresholds(None)


@pytest.fixture
def segments(tmp_path: Path) -> list[StoredSegment]:
    """A hundred seconds in two segments, and more after a pause of half a minute."""
    stretches = (range(40), range(40, 100), range(130, 150))
    return [sampled_segment(tmp_path, lambda *_: {}, seconds=seconds, cores=(0,)) for seconds in stretches]


def quiet(
    segments: Sequence[StoredSegment],
    *events: Event,
    windows: Sequence[range] = (WINDOW,),
    cores: tuple[int, ...] = (),
) -> set[float]:
    """The seconds after BEGIN_NS."""
    spans = [TimeRange(BEGIN_NS + w.start * SECOND_NS, BEGIN_NS + w.stop * SECOND_NS) for w in windows]
    starts = quiet_seconds(segments, spans, events, cores, THRESHOLDS)
    return {(start - BEGIN_NS) / SECOND_NS for start in starts}


ALL = {*range(100), *range(130, 150)} - {*WINDOW}


def test_all_recorded_seconds_but_the_window(segments: list[StoredSegment]) -> None:
    assert quiet(segments) == ALL


def test_not_before_and_after_events_of_trouble(segments: list[StoredSegment]) -> None:
    assert quiet(segments, event_of("nic-reset", 20)) == ALL - {*range(15, 21)}
    assert quiet(segments, event_of("oom-kill", 20.5)) == ALL - {*range(15, 22)}
    assert quiet(segments, event_of("user-mark", 20), event_of("unit-restart", 70)) == ALL


def test_not_while_a_core_is_saturated_that_was_asked_for(segments: list[StoredSegment]) -> None:
    saturated = event_of("core-saturated", 20, core=1, seconds=10.0)
    assert quiet(segments, saturated) == ALL - {*range(20, 31)}
    assert quiet(segments, saturated, cores=(1,)) == ALL - {*range(20, 31)}
    assert quiet(segments, saturated, cores=(0,)) == ALL


def counted(tmp_path: Path, saturated: set[int], last: int = 100) -> StoredSegment:
    """A segment in which core 0 was in the kernel in some seconds, by its counters."""
    modes = ["system" if second in saturated else "idle" for second in range(last)]
    return sampled_segment(tmp_path, lambda *_: {}, seconds=range(last), cores=(0,), core0=modes)


def test_not_while_a_core_was_saturated_by_its_counters(tmp_path: Path) -> None:
    segment = counted(tmp_path, {*range(30, 40), 70, 80, 81})
    expected = {*range(100)} - {*WINDOW} - {*range(29, 41)}
    assert quiet([segment]) == quiet([segment], cores=(0,)) == expected, "shorter bursts are ordinary"
    assert quiet([segment], cores=(1,)) == {*range(100)} - {*WINDOW}
    lagging = event_of("core-saturated", 30, core=0, seconds=3.0)
    assert quiet([segment], lagging) == expected


@pytest.mark.parametrize("last", range(62, 70))
def test_a_run_that_goes_on_is_not_quiet_however_short_it_is_so_far(tmp_path: Path, last: int) -> None:
    segment = counted(tmp_path, {*range(60, 100)}, last)
    assert quiet([segment]) == {*range(59)} - {*WINDOW}


def test_the_nearest_before_and_not_too_many(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, lambda *_: {}, seconds=range(400), cores=(0,))
    found = quiet([segment], windows=[range(200, 206)])
    assert len(found) == MOST and found == {*range(80, 200)}


def test_those_after_where_too_few_are_before(tmp_path: Path) -> None:
    segment = sampled_segment(tmp_path, lambda *_: {}, seconds=range(400), cores=(0,))
    assert quiet([segment], windows=[range(50, 56)]) == {*range(50), *range(56, 126)}


def test_around_several_windows_no_second_is_counted_twice(segments: list[StoredSegment]) -> None:
    spans = [TimeRange(BEGIN_NS + 20 * SECOND_NS, BEGIN_NS + 26 * SECOND_NS)]
    spans += [TimeRange(BEGIN_NS + 60_300_000_000, BEGIN_NS + 66_300_000_000)]  # not on the same tick
    starts = quiet_seconds(segments, spans, [], (), THRESHOLDS)
    assert starts == sorted(starts) and len(starts) > 80
    assert all(later - start >= SECOND_NS for start, later in pairwise(starts))
    assert not any(span.overlaps(start, start + SECOND_NS - 1) for span in spans for start in starts)


def test_a_long_disturbance_hides_all_that_it_covers(segments: list[StoredSegment]) -> None:
    """Short ones that begin later and end sooner do not end it."""
    saturated = event_of("core-saturated", 5, core=0, seconds=30.0)
    within = [event_of("nic-reset", second) for second in (12, 14, 20)]
    assert quiet(segments, saturated, *within) == ALL - {*range(5, 36)}


def test_hundreds_of_windows_without_a_quiet_second_take_no_minutes(segments: list[StoredSegment]) -> None:
    """Every second of an hour is a window's or an event's: all of ten minutes around each are tried."""
    whole = replace(segments[0], end_ns=segments[0].begin_ns + 3600 * SECOND_NS)
    windows = [range(second, second + 12) for second in range(0, 3600, 12)]
    events = [event_of("nic-reset", second) for second in range(0, 3600, 12)]
    began = time.process_time()
    assert quiet([whole], *events, windows=windows) == set()
    assert time.process_time() - began < 3
