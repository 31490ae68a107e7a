from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope import _native
from necroscope.server.questions import lru_cache
from necroscope.server.questions.lru_cache import LruCache, SegmentCounts, SegmentSeconds, telling_places
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.zombies import ask_zombies
from necroscope.signals.cgroup_counts import Count, counts_of
from necroscope.signals.core_states import cores_file
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.store import StoredSegment
from tests.server.questions.recorded_incident import seconds
from tests.stored import moment_of, open_segment, sealed_segment, seconds_of

SPIKE = 9_000


def test_an_answer_is_made_once_and_the_oldest_goes_first() -> None:
    made: list[int] = []

    def ask(kept: LruCache[int], number: int) -> int:
        return kept.get(number, lambda: made.append(number) or number)  # type: ignore[func-returns-value]

    kept: LruCache[int] = LruCache(2)
    assert [ask(kept, number) for number in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 2]
    assert made == [1, 2, 3, 2]


def test_an_error_is_not_kept() -> None:
    kept: LruCache[int] = LruCache(2)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 5) == 5


def files_of(root: Path, count: int) -> list[tuple[Path, int]]:
    segments = [sealed_segment(root, seconds_of(["system"] * 3), host=f"n{n}") for n in range(count)]
    return [(cores_file(segment) or Path(), segment.offset_ns) for segment in segments]


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, kept = files_of(tmp_path, 2), SegmentSeconds()
    first = kept.of(files)
    asked = Mock(return_value=[])
    monkeypatch.setattr(_native, "seconds_of_files", asked)
    assert kept.of(files[::-1]) == first[::-1]
    asked.assert_called_once_with([])


def test_the_memory_is_bounded_and_what_was_asked_for_last_stays(tmp_path: Path) -> None:
    files = files_of(tmp_path, 4)
    one = SegmentSeconds()
    one.of(files[:1])
    kept = SegmentSeconds(max_bytes=2 * one.size_bytes)
    for file in (files[0], files[1], files[0], files[2]):
        kept.of([file])
    assert kept.size_bytes == 2 * one.size_bytes
    assert list(kept._kept) == [files[0], files[2]]


def test_more_than_is_kept_comes_back_all_the_same(tmp_path: Path) -> None:
    files, kept = files_of(tmp_path, 3), SegmentSeconds(max_bytes=1)
    assert all(isinstance(seconds, _native.SegmentHeat) for seconds in kept.of(files))
    assert kept.size_bytes == 0


def test_a_file_that_cannot_be_read_is_not_kept(tmp_path: Path) -> None:
    (file,) = files_of(tmp_path, 1)
    kept, elsewhere = SegmentSeconds(), file[0].with_suffix(".away")
    file[0].rename(elsewhere)
    assert isinstance(kept.of([file])[0], OSError)
    elsewhere.rename(file[0])
    assert isinstance(kept.of([file])[0], _native.SegmentHeat)


def counted(dying: int) -> MemoryCgroups:
    memory = HierarchyCount("memory (v1)", 1, 240 + dying, 240, dying, "/proc/cgroups")
    return MemoryCgroups(memory, (), 5_000_000)


def segment_from(root: Path, second: int, *, is_open: bool = False) -> StoredSegment:
    """Ten seconds of a steady leak, with one spike in the middle."""
    dying = [second + n for n in range(10)] + [second + 10]
    dying[5] = SPIKE + second
    moments = [moment_of(second + n, {MEMORY_CGROUPS: counted(d)}) for n, d in enumerate(dying)]
    return (open_segment if is_open else sealed_segment)(root, moments)


def count(tracked: int, dying: int) -> Count:
    return Count(0, tracked, tracked - dying, dying, None)


def test_the_first_the_last_and_the_extremes_tell() -> None:
    counts = [count(5, 1), count(9, 1), count(5, 4), count(2, 0), count(5, 2), count(5, 1), count(6, 1)]
    assert telling_places(counts) == [0, 1, 2, 3, 6]
    assert telling_places(counts[:1]) == [0]
    assert telling_places([]) == []


def test_a_sealed_segment_is_read_once_and_an_open_one_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed, growing = segment_from(tmp_path, 0), segment_from(tmp_path, 10, is_open=True)
    read = Mock(wraps=counts_of)
    monkeypatch.setattr(lru_cache, "counts_of", read)
    kept = SegmentCounts()
    for ask in (kept.whole, kept.telling):
        assert ask(sealed) == ask(sealed)
        ask(growing), ask(growing)
    assert read.call_count == 2 * (1 + 2)
    assert [one.dying for one in kept.telling(sealed)] == [0, SPIKE, 10]
    assert len(kept.whole(sealed)) == 11


def test_a_long_range_shows_the_same_spikes_and_the_same_forecast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for second in range(0, 300, 10):
        segment_from(tmp_path, second)
    monkeypatch.setattr("necroscope.signals.cgroup_counts.MOST_POINTS", 30)  # one of each
    span = seconds(0, 301)
    exact = ask_zombies(RecordedStore(tmp_path), span, 1000)
    monkeypatch.setattr("necroscope.server.questions.zombies.FEW", 29)
    coarse = ask_zombies(RecordedStore(tmp_path), span, 1000)
    assert len(exact.times_us) == 301 and len(coarse.times_us) == 61
    for answer in (exact, coarse):
        assert [z for z in answer.zombies if z and z >= SPIKE] == [SPIKE + s for s in range(0, 300, 10)]
        assert (answer.zombies[0], answer.zombies[-1]) == (0, 300)
    assert "tracked cgroups: +60 a minute" in exact.why_none
    assert (exact.forecast, exact.why_none) == (coarse.forecast, coarse.why_none)
