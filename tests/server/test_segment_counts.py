from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest

from necroscope.server import segment_counts
from necroscope.server.questions.zombies import ask_zombies
from necroscope.server.recorded_store import RecordedStore
from necroscope.server.segment_counts import SegmentCounts, telling_places
from necroscope.signals.cgroup_counts import Count, counts_of
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.store import StoredSegment
from tests.server.questions.recorded_incident import seconds
from tests.stored import moment_of, open_segment, sealed_segment

SPIKE = 9_000


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
    monkeypatch.setattr(segment_counts, "counts_of", read)
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
