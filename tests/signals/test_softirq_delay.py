from __future__ import annotations

from typing import Any

import pytest

from necroscope.model.reading import Absence, Reading
from necroscope.signals import softirq_delay
from necroscope.signals.softirq_delay import SoftirqDelays
from necroscope.sources.cores import CORES
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread
from tests.segments import BEGIN_NS, core_seconds, segment_of

REFUSED: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="no")
SECOND_NS = 10**9


def threads(**delays_ms: int) -> tuple[SoftirqThread, ...]:
    return tuple(
        SoftirqThread(pid, name, core, delay * 10**6)
        for pid, (name, delay) in enumerate(delays_ms.items())
        for core in (None if name.startswith("napi") else pid,)
    )


def waited(*readings: Any) -> list[tuple[int, str, float]]:
    """The second in which each delay was read, the thread and the seconds."""
    delays = softirq_delay.over(segment_of({SOFTIRQ_THREADS: readings}))
    return [((one.end_ns - BEGIN_NS) // SECOND_NS, one.thread.name, one.seconds) for one in delays]


def test_a_delay_is_what_was_added_between_two_readings() -> None:
    found = waited(threads(a=100, napi=5), threads(a=100, napi=305), threads(a=4900, napi=305))
    assert found == [(1, "a", 0.0), (1, "napi", 0.3), (2, "a", 4.8), (2, "napi", 0.0)]


def test_a_thread_counts_from_its_first_reading_on() -> None:
    assert waited(threads(a=1), threads(a=1, b=9000), threads(a=1, b=9250))[1:] == [
        (2, "a", 0.0),
        (2, "b", 0.25),
    ]


def test_a_counter_that_fell_is_of_another_thread() -> None:
    assert waited(threads(a=500), threads(a=100), threads(a=150)) == [(1, "a", 0.0), (2, "a", 0.05)]


def test_what_could_not_be_read_in_between_is_not_lost() -> None:
    segment = segment_of({SOFTIRQ_THREADS: [threads(a=0), REFUSED, threads(a=700)]})
    (delay,) = softirq_delay.over(segment)
    assert (delay.begin_ns, delay.end_ns) == (BEGIN_NS, BEGIN_NS + 2 * SECOND_NS)
    assert delay.seconds == pytest.approx(0.7)


def test_a_sample_without_the_source_is_passed_over() -> None:
    segment = segment_of({CORES: core_seconds(["idle"] * 3), SOFTIRQ_THREADS: [threads(a=0), threads(a=700)]})
    fold = SoftirqDelays()
    fed = [[delay.seconds for delay in fold.feed(sample)] for sample in segment.moments]
    assert fed == [[], [], [], [0.7]]
