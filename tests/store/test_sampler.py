from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.source import Read, Source
from necroscope.store.sampler import sample
from necroscope.store.segment import Segment


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


def interrupting(at: int, times: int = 1) -> Source[int]:
    """A source in whose reading somebody presses Ctrl-C."""

    def open_interrupting(_: Host) -> Read[int]:
        counted = counting("").open(_)

        def read() -> Reading[int]:
            reading = counted()
            for _ in range(times if reading.value == at else 0):
                signal.raise_signal(signal.SIGINT)
            return reading

        return read

    return Source("interrupting", open_interrupting)


def sampled(
    *sources: Source[Any],
    seconds: float = 2,
    host: Host | None = None,
    steps: list[tuple[int, int]] | None = None,
) -> Segment:
    def progress(done: int, total: int) -> None:
        if steps is not None:
            steps.append((done, total))

    return sample(host or Host(), seconds, progress, sources)


def values(segment: Segment, id: str) -> list[int]:
    return [timed.value for timed in segment.series(counting(id))]


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


def test_a_fraction_of_a_second_at_the_end() -> None:
    steps: list[tuple[int, int]] = []
    segment = sampled(counting("fast"), counting("slow", pace_seconds=60), seconds=1.3, steps=steps)
    first, *later = [moment.time_ns for moment in segment.moments]
    assert [(time_ns - first) / 1e9 for time_ns in later] == pytest.approx([1, 1.3], abs=0.2)
    assert (values(segment, "fast"), values(segment, "slow")) == ([1, 2, 3], [1, 2])
    assert list(dict.fromkeys(steps)) == [(0, 2), (1, 2), (2, 2)]
    assert not segment.interrupted


def test_a_source_with_an_infinite_pace_is_read_once() -> None:
    segment = sampled(counting("once", pace_seconds=math.inf), counting("fast"), seconds=1)
    assert (values(segment, "once"), values(segment, "fast")) == ([1], [1, 2])
    assert [list(moment.readings) for moment in segment.moments] == [["once", "fast"], ["fast"]]


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


@pytest.fixture(autouse=True)
def same_handler() -> Iterator[None]:
    """Whatever happens, Ctrl-C does afterwards what it did before."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_ends_the_wait_and_keeps_what_was_seen() -> None:
    steps: list[tuple[int, int]] = []
    sources = counting("slow", pace_seconds=60), counting("once", pace_seconds=math.inf), counting("fast")
    began = time.monotonic()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    segment = sampled(*sources, seconds=10, steps=steps)
    assert 0.2 <= time.monotonic() - began < 5
    assert segment.interrupted
    assert [values(segment, id) for id in ("slow", "once", "fast")] == [
        [1, 2],
        [1],
        [1, 2],
    ]  # and a last look
    assert steps == [(0, 10), (10, 10)]


@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_does_not_cut_a_moment(at: int) -> None:
    """It is finished, and one with all sources follows."""
    sources = interrupting(at), counting("slow", pace_seconds=60), counting("fast")
    segment = sampled(*sources, seconds=10)
    assert segment.interrupted
    assert segment.seconds < at
    assert values(segment, "interrupting") == values(segment, "fast") == list(range(1, at + 2))
    assert values(segment, "slow") == [1, 2]
    assert all(moment.readings["interrupting"].absence is None for moment in segment.moments)


def test_an_interrupt_before_the_first_moment() -> None:
    def open_interrupting(host: Host) -> Read[int]:
        signal.raise_signal(signal.SIGINT)
        return counting("").open(host)

    segment = sampled(Source("early", open_interrupting), counting("fast"), seconds=10)
    assert segment.interrupted
    assert (values(segment, "early"), values(segment, "fast")) == ([1], [1])


def test_a_second_interrupt_ends_the_program() -> None:
    steps: list[tuple[int, int]] = []
    with pytest.raises(KeyboardInterrupt):
        sampled(interrupting(1, times=2), seconds=10, steps=steps)
    assert steps == [(10, 10)]


def test_outside_of_the_main_thread_there_is_no_ctrl_c() -> None:
    segments: list[Segment] = []
    thread = threading.Thread(target=lambda: segments.append(sampled(counting("fast"), seconds=0)))
    thread.start()
    thread.join()
    assert [values(segment, "fast") for segment in segments] == [[1]]
