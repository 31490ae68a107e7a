"""A core could not run its network work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import MOVE_INTERRUPTS
from necroscope.signals import softirq_delay
from necroscope.signals.softirq_delay import SoftirqDelay
from necroscope.sources.interrupts import INTERRUPTS, Interrupts
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueues
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.softirqs import SOFTIRQS
from necroscope.store.segment import Step

HELD = Advice("see core-saturated for what held the core")
STANDING_STEPS = 2  # a single interval may fall between the interrupt and the softirq


@detector("softirq-starved", needs=(SOFTIRQ_THREADS,), uses=(SOFTIRQS, INTERRUPTS, NIC_QUEUES))
def softirq_starved(case: Case) -> Iterator[Finding]:
    """The softirq thread of a core was runnable but not allowed to run.

    Fires on the run delay of ksoftirqd/N (or of a NAPI thread) added between two readings, and on
    NET_RX standing still on a core whose NIC interrupts went on. Network work that is left to such a
    thread was late: NICs reset after 5 s of it.

    Up to Linux 6.4 all of it is left to the thread while that stands ready. Since 6.5 interrupts run
    softirqs all the same, so the wait of ksoftirqd alone does not show that a NIC was not served
    (measured: docs/starvation.md). A NAPI thread serves its queue alone, on any kernel.

    The delay is added by the kernel when the thread runs at last, so it may appear a moment after
    the stall. It does not say who held the core: core-saturated names the tasks. `time_squeeze` of
    softnet_stat is not used, since it does not move at all under starvation.

    To do: look at core-saturated for the same core; long kernel work there is the usual cause. As a
    stop-gap only: `necroscope fix move-interrupts CORE`.
    """
    rising = sorted(softirq_delay.over(case.segment), key=lambda delay: delay.delay_ns)
    longest = {delay.thread.pid: delay for delay in rising}  # of each thread
    for delay in sorted(longest.values(), key=lambda delay: -delay.delay_ns):
        if delay.seconds >= case.limit("softirq-starved.delay_seconds"):
            yield _delayed(case, delay)
    yield from _standing_still(case)


def _delayed(case: Case, delay: SoftirqDelay) -> Finding:
    where = f"/proc/{delay.thread.pid}/schedstat"
    evidence = [
        Evidence("run delay", round(delay.seconds, 3), "seconds", where),
        Evidence("thread", delay.thread.name, "", where),
        Evidence("seen at", case.segment.anchor.iso(delay.end_ns), "UTC", where),
    ]
    if delay.thread.core is not None:
        evidence.insert(0, Evidence("core", delay.thread.core, "", where))
    critical = delay.seconds >= case.limit("softirq-starved.critical_delay_seconds")
    return Finding(
        id="softirq-starved",
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        summary=f"{delay.thread.name} waited {delay.seconds:.1f} s to run: network work left to it was late",
        evidence=tuple(evidence),
        advice=(HELD,),
        subject="" if delay.thread.core is None else str(delay.thread.core),
        remedy="" if delay.thread.core is None else MOVE_INTERRUPTS,
    )


def _standing_still(case: Case) -> Iterator[Finding]:
    """NET_RX that does not move on a core that keeps taking a NIC's interrupts."""
    threads = case.segment.last(SOFTIRQ_THREADS) or ()
    queues = case.segment.last(NIC_QUEUES)
    if not queues or any(thread.core is None for thread in threads):  # threaded NAPI leaves NET_RX alone
        return
    softirqs = {step.after.time_ns: step for step in case.segment.steps(SOFTIRQS)}
    standing: dict[int, int] = defaultdict(int)
    reported: set[int] = set()
    for step in case.segment.steps(INTERRUPTS):
        if not (same := softirqs.get(step.after.time_ns)):
            continue
        before = {core.core: core.net_rx for core in same.before.value}
        moved = {core.core for core in same.after.value if core.net_rx != before.get(core.core)}
        for core, taken in _nic_interrupts(step, queues).items():
            still = taken >= case.limit("softirq-starved.stalled_interrupts") and core not in moved
            standing[core] = standing[core] + 1 if still else 0
            if standing[core] >= STANDING_STEPS and core not in reported:
                reported.add(core)
                yield Finding(
                    id="softirq-starved",
                    severity=Severity.WARNING,
                    summary=f"core {core} took NIC interrupts but ran no NET_RX softirq",
                    evidence=(
                        Evidence("core", core, "", "/proc/softirqs"),
                        Evidence(
                            "NIC interrupts in the last interval", taken, "interrupts", "/proc/interrupts"
                        ),
                        Evidence("NET_RX runs in it", 0, "softirqs", "/proc/softirqs"),
                    ),
                    advice=(HELD,),
                    subject=str(core),
                    remedy=MOVE_INTERRUPTS,
                )


def _nic_interrupts(step: Step[Interrupts], queues: NicQueues) -> dict[int, int]:
    numbers = {queue.irq for queue in queues}
    taken: dict[int, int] = defaultdict(int)
    before = {(row.irq, core): count for row in step.before.value for core, count in row.counts}
    for row in step.after.value:
        if row.irq in numbers:
            for core, count in row.counts:
                taken[core] += count - before.get((row.irq, core), 0)
    return taken
