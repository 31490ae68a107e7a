from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import necroscope.recording.sampler as sampler_module
from necroscope.model.reading import Absence, Reading
from necroscope.recording.sampler import sample
from necroscope.recording.segment import Segment
from necroscope.sources.host import Host
from necroscope.sources.source import Read, Source


def counting(id: str, pace_seconds: float = 1.0, calls: int = 10**6) -> Source[int]:
    """A source that counts its readings, and fails after some."""

    def open_counting(_: Host) -> Read[int]:
        count = 0

        def read() -> Reading[int]:
            nonlocal count
            count += 1
            if count > calls:
                raise OSError("gone")
            return Reading(count)

        return read

    return Source(id, open_counting, pace_seconds)


def sampled(*sources: Source[Any], seconds: float = 2, host: Host | None = None) -> Segment:
    return sample(host or Host(), seconds, lambda done, total: None, sources)


def test_once_a_second_and_on_time() -> None:
    segment = sampled(counting("fast"), seconds=2)
    assert [timed.value for timed in segment.series(counting("fast"))] == [1, 2, 3]
    gaps = [b.time_ns - a.time_ns for a, b in zip(segment.moments, segment.moments[1:], strict=False)]
    assert all(abs(gap - 1e9) < 2e8 for gap in gaps)
    assert segment.seconds == pytest.approx(2, abs=0.2)


def test_a_slow_source_is_read_at_the_beginning_and_the_end() -> None:
    segment = sampled(counting("slow", pace_seconds=60), counting("fast"))
    assert [timed.value for timed in segment.series(counting("slow"))] == [1, 2]
    assert "slow" not in segment.moments[1].readings


def test_a_source_that_breaks_is_recorded_and_hurts_no_other() -> None:
    def explode(_: Host) -> Read[int]:
        raise ValueError("cannot open")

    segment = sampled(Source("broken", explode), counting("breaks", calls=1), counting("fine"), seconds=1)
    absent = segment.moments[-1].readings["broken"]
    assert (absent.absence, absent.detail) == (Absence.BROKEN, "ValueError: cannot open")
    assert segment.moments[-1].readings["breaks"].detail == "OSError: gone"
    assert segment.last(counting("fine")) == 2


def test_every_reading_is_timed() -> None:
    def open_sleepy(_: Host) -> Read[int]:
        def read() -> Reading[int]:
            time.sleep(0.02)
            return Reading(1)

        return read

    (moment, *_) = sampled(Source("sleepy", open_sleepy), seconds=1).moments
    assert 0.02e9 <= moment.cost_ns["sleepy"] < 0.5e9


def test_a_recorded_tree_is_one_moment(tmp_path: Path) -> None:
    segment = sampled(counting("fast"), seconds=60, host=Host(tmp_path))
    assert len(segment.moments) == 1
    assert not segment.is_live


def test_an_interrupt_keeps_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = iter([None, None, KeyboardInterrupt])

    def nap(_: float) -> None:
        if next(naps):
            raise KeyboardInterrupt

    monkeypatch.setattr(sampler_module, "_sleep_until", nap)
    segment = sampled(counting("fast"), seconds=10)
    assert segment.interrupted
    assert len(segment.moments) == 3  # two on time, and a last look
