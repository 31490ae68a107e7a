from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.zombies import ask_zombies, thinned_counts, zombies_answer
from necroscope.signals.cgroup_counts import Count
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.reclaim import RECLAIM
from tests.diagnosis.scenes import reclaim
from tests.server.questions.recorded_incident import BEGIN_US, recorded_incident, seconds
from tests.stored import moment_of, sealed_segment, seconds_of

MINUTE = 60


def counted(dying: int) -> MemoryCgroups:
    memory = HierarchyCount("memory (v1)", 1, 240 + dying, 240, dying, "/proc/cgroups")
    return MemoryCgroups(memory, (), 5_000_000 + 200_000 * dying)


def leaking_store(root: Path, minutes: int = 60, per_minute: int = 10) -> RecordedStore:
    """A moment a minute; zombies grow evenly, 200,000 bytes each."""
    (memory,) = reclaim(0)
    moments = [
        moment_of(minute * MINUTE, {MEMORY_CGROUPS: counted(minute * per_minute), RECLAIM: memory})
        for minute in range(minutes + 1)
    ]
    sealed_segment(root, moments)
    return RecordedStore(root)


def count(tracked: int, dying: int = 0) -> Count:
    return Count(0, tracked, tracked - dying, dying, None)


@pytest.mark.parametrize("is_open", [True, False])
def test_all_counts_across_segments(tmp_path: Path, is_open: bool) -> None:
    answer = ask_zombies(RecordedStore(recorded_incident(tmp_path, is_open=is_open)), seconds(0, 41), 1000)
    assert answer.times_us == [BEGIN_US + second * 1_000_000 for second in range(41)]
    assert answer.zombies == list(range(5_000, 5_410, 10))
    assert answer.tracked == [240 + n for n in range(5_000, 5_410, 10)]
    assert set(answer.in_use) == {240}


def test_a_forecast(tmp_path: Path) -> None:
    answer = ask_zombies(leaking_store(tmp_path), seconds(0, 3601), 1000)
    assert answer.forecast and answer.why_none == ""
    assert answer.forecast.per_hour == pytest.approx(600)
    assert answer.forecast.low_per_hour <= 600 <= answer.forecast.high_per_hour
    assert answer.forecast.wall_us and answer.forecast.wall_us > BEGIN_US + 3600 * 10**6
    assert "if it goes on like this" in answer.forecast.text


def test_too_short_a_time_has_no_forecast_and_says_why(tmp_path: Path) -> None:
    answer = ask_zombies(RecordedStore(recorded_incident(tmp_path)), seconds(0, 41), 1000)
    assert answer.forecast is None and answer.why_none


def test_without_counts_there_is_nothing_to_show(tmp_path: Path) -> None:
    sealed_segment(tmp_path, seconds_of(["idle"] * 3))
    answer = ask_zombies(RecordedStore(tmp_path), seconds(0, 3), 100)
    assert (answer.times_us, answer.forecast) == ([], None)
    assert "no counts of memory cgroups" in answer.why_none


@pytest.mark.parametrize("most", [1, 2, 5, 6, 60, 600])
def test_thinned_counts_keep_the_first_the_last_and_the_extremes(most: int) -> None:
    rows = [(time, count(1000 + time % 7)) for time in range(5000)]
    rows[1234] = (1234, count(9000))
    rows[4321] = (4321, count(1))
    kept = thinned_counts(rows, most)
    assert len(kept) <= most and kept == sorted(kept) and kept[0] == rows[0]
    if most > 1:
        assert kept[-1] == rows[-1]
    if most >= 6:
        assert rows[1234] in kept and rows[4321] in kept


def test_a_hole_is_a_none_and_not_a_line() -> None:
    rows = [(0, count(5)), (10**9, count(6)), (200 * 10**9, count(7))]
    answer = zombies_answer(rows, None, "", [])
    assert answer.tracked == [5, 6, None, 7]
    assert answer.times_us == [0, 1_000_000, 1_000_001, 200_000_000]
