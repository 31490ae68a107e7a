"""The kernel itself says that something does not move."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.event import EVENT_KINDS, Event
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.signals.kernel_log_events import line_evidence
from necroscope.sources.kernel_log import KERNEL_LOG

LINES_NAMED = 5
SEVERITY = {
    "soft-lockup": Severity.CRITICAL,
    "hard-lockup": Severity.CRITICAL,
    "rcu-stall": Severity.CRITICAL,
    "workqueue-lockup": Severity.CRITICAL,
    "hung-task": Severity.WARNING,
    "workqueue-hog": Severity.WARNING,
    "rt-throttling": Severity.WARNING,
}


@detector("kernel-stall", needs=(KERNEL_LOG,), readings_needed=1)
def kernel_stall(case: Case) -> Iterator[Finding]:
    """The kernel log reports a lockup, a stall, a hung task, or a hog.

    Fires on the lines of the kernel's own watchdogs, one finding per kind. They are proof, but they
    speak late: a soft lockup after 20 s, an RCU stall after 21 to 60 s, while a NIC gives up after 5.
    So their silence does not mean that no core was stuck. Real-time throttling is printed once per
    boot: its time says only when it was first seen.

    To do: the lines name the core and the task. For hung tasks look at storage first.
    """
    by_kind: dict[str, list[Event]] = defaultdict(list)
    for event in case.recent_events(*SEVERITY, hours=case.limit("kernel-stall.hours")):
        by_kind[event.kind].append(event)
    for kind, events in by_kind.items():
        evidence = [Evidence("lines", len(events), "lines", "kernel log")]
        evidence.extend(map(line_evidence, events[-LINES_NAMED:]))
        cores = sorted({event.core for event in events if event.core is not None})
        evidence.extend(Evidence("core", core, "", "kernel log") for core in cores)
        where = f" on core {', '.join(map(str, cores))}" if cores else ""
        yield Finding(
            id="kernel-stall",
            severity=SEVERITY[kind],
            summary=f"{kind}{where}: {EVENT_KINDS[kind]} ({len(events)} lines in the kernel log)",
            evidence=tuple(evidence),
            advice=(Advice("read the lines around it", "dmesg --ctime | less"),),
        )
