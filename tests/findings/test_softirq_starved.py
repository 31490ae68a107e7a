from __future__ import annotations

from necroscope.findings.softirq_starved import softirq_starved
from necroscope.model.finding import Severity
from necroscope.sources.interrupts import INTERRUPTS, CoreCount, Interrupt
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread, SoftirqThreads
from necroscope.sources.softirqs import SOFTIRQS, CoreSoftirqs
from tests.segments import evidence, look, segment_of

QUEUE = NicQueue("eth0", "ena", "0000:00:05.0", 1, "both", 41, "eth0-Tx-Rx-1", (1,), ())


def threads(first_ms: int, second_ms: int) -> SoftirqThreads:
    return (
        SoftirqThread(14, "ksoftirqd/0", 0, first_ms * 10**6),
        SoftirqThread(22, "ksoftirqd/1", 1, second_ms * 10**6),
    )


def test_run_delay_names_the_core() -> None:
    segment = segment_of({SOFTIRQ_THREADS: [threads(100, 100), threads(101, 100), threads(101, 4_900)]})
    (finding,) = look(softirq_starved, segment)
    facts = evidence(finding)
    assert finding.severity is Severity.CRITICAL
    assert (facts["core"], facts["thread"], facts["run delay"]) == (1, "ksoftirqd/1", 4.8)
    assert (finding.subject, finding.remedy) == ("1", "move-interrupts")


def test_what_user_space_hogs_add_is_not_starvation() -> None:
    assert not look(
        softirq_starved, segment_of({SOFTIRQ_THREADS: [threads(0, 0), threads(0, 15), threads(3, 60)]})
    )


def test_a_napi_thread_has_no_core() -> None:
    moments = [(SoftirqThread(99, "napi/eth0-8193", None, delay_s * 10**9),) for delay_s in (0, 1)]
    (finding,) = look(softirq_starved, segment_of({SOFTIRQ_THREADS: moments}))
    assert "core" not in evidence(finding)
    assert (finding.subject, finding.remedy) == ("", "")
    assert "napi/eth0-8193 waited 1.0 s" in finding.summary


def standing_still(interrupts_per_second: int, runs_per_second: int, napi_threads: bool = False) -> int:
    seconds = range(5)
    extra = (SoftirqThread(99, "napi/eth0-1", None, 0),) if napi_threads else ()
    segment = segment_of(
        {
            SOFTIRQ_THREADS: [threads(0, 0) + extra for _ in seconds],
            SOFTIRQS: [(CoreSoftirqs(1, 1000 + runs_per_second * s, 0, 0),) for s in seconds],
            INTERRUPTS: [
                (Interrupt(41, "eth0-Tx-Rx-1", (CoreCount(1, 7 + interrupts_per_second * s),)),)
                for s in seconds
            ],
            NIC_QUEUES: [(QUEUE,)] * len(seconds),
        }
    )
    return len(look(softirq_starved, segment))


def test_interrupts_without_softirqs() -> None:
    assert standing_still(interrupts_per_second=500, runs_per_second=0) == 1
    assert standing_still(interrupts_per_second=500, runs_per_second=400) == 0
    assert standing_still(interrupts_per_second=2, runs_per_second=0) == 0
    assert standing_still(interrupts_per_second=500, runs_per_second=0, napi_threads=True) == 0
