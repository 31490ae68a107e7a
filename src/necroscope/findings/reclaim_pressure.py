"""Tasks have to free memory before they get any."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.event import Event
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.signals.kernel_log_events import line_evidence
from necroscope.signals.pressure import waited_ratio
from necroscope.signals.reclaim import Reclaimed, kills_of_the_node, over
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.pressure import PRESSURE
from necroscope.sources.reclaim import RECLAIM
from necroscope.store.segment import Segment

HOURS = "reclaim-pressure.hours"


@detector("reclaim-pressure", needs=(RECLAIM,), uses=(PRESSURE, KERNEL_LOG))
def reclaim_pressure(case: Case) -> Iterator[Finding]:
    """Memory ran short: tasks that wanted memory had to search for it themselves, or were killed.

    Fires on the pages that direct reclaim scanned per second, node-wide (reclaim inside a cgroup
    at its own limit is not counted by the kernel here), and on kernel log lines of a process killed
    because the whole node ran out of memory. Tasks wait meanwhile, and reclaim walks every memory
    cgroup, zombies included. A kill inside a container at its own limit is an event, not a finding.

    It does not say who took the memory, nor that CPU throttling comes from it.

    To do: compare MemAvailable with what the node should run; look at zombie-memory-cgroups.
    """
    kills = kills_of_the_node(case.recent_events("oom-kill", hours=case.limit(HOURS)))
    worst = max(over(case.segment), key=lambda one: one.pages_per_second, default=None)
    if worst and worst.pages_per_second >= case.limit("reclaim-pressure.direct_scan_pages_per_second"):
        yield _scanning(case.segment, worst)
    if kills:
        yield _killing(kills)


def _scanning(segment: Segment, worst: Reclaimed) -> Finding:
    evidence = [
        Evidence(
            "scanned by waiting tasks in the worst second",
            round(worst.pages_per_second),
            "pages/s",
            "/proc/vmstat pgscan_direct",
        ),
        Evidence("allocations that waited", worst.allocation_stalls, "stalls", "/proc/vmstat allocstall*"),
        Evidence("memory available", worst.left.available_bytes, "bytes", "/proc/meminfo MemAvailable"),
    ]
    waited = waited_ratio(segment, "memory")
    if waited is not None:
        name = "time some task waited for memory"
        evidence.append(Evidence(name, round(waited, 3), "ratio", "/proc/pressure/memory"))
    return Finding(
        id="reclaim-pressure",
        severity=Severity.WARNING,
        summary=f"tasks that wanted memory scanned {worst.pages_per_second:,.0f} pages a second for it"
        " themselves",
        evidence=tuple(evidence),
        advice=(Advice("see what holds the memory", "ps aux --sort=-rss | head; slabtop -o | head"),),
    )


def _killing(kills: list[Event]) -> Finding:
    return Finding(
        id="reclaim-pressure",
        severity=Severity.CRITICAL,
        summary=f"the node ran out of memory: the kernel killed {kills[-1].process} (pid {kills[-1].pid})",
        evidence=(
            Evidence("processes killed for memory", len(kills), "processes", "kernel log"),
            line_evidence(kills[-1]),
        ),
        advice=(Advice("read what it was killed for", "dmesg --ctime | grep -B 40 'Out of memory'"),),
    )
