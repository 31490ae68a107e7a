from __future__ import annotations

from typing import Any

from necroscope.model.reading import Absence, Reading
from necroscope.signals import net_rx
from necroscope.sources.interrupts import INTERRUPTS, CoreCount, Interrupt
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread
from necroscope.sources.softirqs import SOFTIRQS, CoreSoftirqs
from necroscope.sources.source import Source
from tests.segments import BEGIN_NS, segment_of

REFUSED: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="no")
SECOND_NS = 10**9


def came(*counts: int) -> list[tuple[Interrupt, ...]]:
    """Interrupts of a queue that CPU 1 took until every sample; one of a disk comes all the time."""
    return [
        (Interrupt(41, "eth0-Tx-Rx-1", (CoreCount(1, n),)), Interrupt(50, "nvme0q1", (CoreCount(0, 9 + i),)))
        for i, n in enumerate(counts)
    ]


def ran(*counts: int) -> list[tuple[CoreSoftirqs, ...]]:
    """How often CPU 1 had run NET_RX until every sample; CPU 0 never does."""
    return [(CoreSoftirqs(0, 7, 0, 0), CoreSoftirqs(1, n, 0, 0)) for n in counts]


def served(**series: Any) -> list[tuple[int, int, bool]]:
    """The CPU, the interrupts that it took and whether NET_RX ran, of every interval."""
    names: dict[str, Source[Any]] = {
        "interrupts": INTERRUPTS,
        "softirqs": SOFTIRQS,
        "threads": SOFTIRQ_THREADS,
    }
    segment = segment_of({names[name]: values for name, values in series.items()})
    return [(one.cpu, one.interrupts, one.has_run) for one in net_rx.over(segment, {41})]


def test_interrupts_and_runs_between_two_samples() -> None:
    found = served(interrupts=came(3, 13, 13, 14), softirqs=ran(5, 5, 5, 6))
    assert found == [(1, 10, False), (1, 0, False), (1, 1, True)]


def test_a_counter_of_runs_that_fell_has_moved() -> None:
    assert served(interrupts=came(3, 4), softirqs=ran(2**32 - 1, 4)) == [(1, 1, True)]


def test_an_interval_ends_when_both_counters_were_read() -> None:
    segment = segment_of({INTERRUPTS: came(3, 4, 5), SOFTIRQS: [ran(5)[0], REFUSED, ran(5)[0]]})
    (one,) = net_rx.over(segment, {41})
    assert (one.begin_ns, one.end_ns) == (BEGIN_NS, BEGIN_NS + 2 * SECOND_NS)
    assert (one.interrupts, one.has_run) == (2, False)


def test_threads_that_run_napi_leave_net_rx_alone() -> None:
    napi = (SoftirqThread(99, "napi/eth0-1", None, 0),)
    assert served(interrupts=came(3, 13), softirqs=ran(5, 5), threads=[napi, napi]) == []
    ksoftirqd = (SoftirqThread(22, "ksoftirqd/1", 1, 0),)
    assert served(interrupts=came(3, 13), softirqs=ran(5, 5), threads=[ksoftirqd] * 2) == [(1, 10, False)]
