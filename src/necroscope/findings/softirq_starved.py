"""A core could not run its network work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import MOVE_INTERRUPTS
from necroscope.signals import net_rx, softirq_delay
from necroscope.signals.softirq_delay import SoftirqDelay
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.softirqs import SOFTIRQS

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
    irqs = {queue.irq for queue in case.segment.last(NIC_QUEUES) or ()}
    standing: dict[int, int] = defaultdict(int)
    reported: set[int] = set()
    for one in net_rx.over(case.segment, irqs):
        is_still = one.interrupts >= case.limit("softirq-starved.stalled_interrupts") and not one.has_run
        standing[one.cpu] = standing[one.cpu] + 1 if is_still else 0
        if standing[one.cpu] >= STANDING_STEPS and one.cpu not in reported:
            reported.add(one.cpu)
            yield Finding(
                id="softirq-starved",
                severity=Severity.WARNING,
                summary=f"core {one.cpu} took NIC interrupts but ran no NET_RX softirq",
                evidence=(
                    Evidence("core", one.cpu, "", "/proc/softirqs"),
                    Evidence(
                        "NIC interrupts in the last interval",
                        one.interrupts,
                        "interrupts",
                        "/proc/interrupts",
                    ),
                    Evidence("NET_RX runs in it", 0, "softirqs", "/proc/softirqs"),
                ),
                advice=(HELD,),
                subject=str(one.cpu),
                remedy=MOVE_INTERRUPTS,
            )
