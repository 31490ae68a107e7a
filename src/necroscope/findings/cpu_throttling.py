"""Cgroups stopped by their own CPU quota."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.sources.throttling import THROTTLING

CGROUPS_NAMED = 5


@detector("cpu-throttling", needs=(THROTTLING,))
def cpu_throttling(case: Case) -> Iterator[Finding]:
    """A cgroup used up its CPU quota and was stopped in many of its periods.

    Fires on the share of quota periods in which a cgroup was throttled while we looked. This is a
    limit that somebody set, not a shortage of the node: idle cores do not help. It neither causes
    nor explains a saturated core or a NIC reset.

    To do: raise or remove the limit (Kubernetes: resources.limits.cpu) of the cgroups named.
    """
    step = case.segment.span(THROTTLING)
    if not step:
        return
    before = {cgroup.path: cgroup for cgroup in step.before.value}
    throttled = []
    for cgroup in step.after.value:
        if old := before.get(cgroup.path):
            periods = cgroup.periods - old.periods
            stopped = cgroup.throttled_periods - old.throttled_periods
            if periods >= case.limit("cpu-throttling.periods") and stopped > 0:
                lost = cgroup.throttled_seconds - old.throttled_seconds
                throttled.append((stopped / periods, lost, cgroup.path))
    worst = sorted(
        (row for row in throttled if row[0] >= case.limit("cpu-throttling.throttled_ratio")), reverse=True
    )
    if not worst:
        return
    evidence = [Evidence("cgroups throttled", len(worst), "cgroups", "cpu.stat")]
    for ratio, lost, path in worst[:CGROUPS_NAMED]:
        evidence.append(
            Evidence(f"periods throttled of {path}", round(ratio, 3), "ratio", f"{path}/cpu.stat")
        )
        evidence.append(Evidence(f"time lost by {path}", round(lost, 3), "seconds", f"{path}/cpu.stat"))
    ratio, _, path = worst[0]
    more = f", and {len(worst) - 1} more" if len(worst) > 1 else ""
    yield Finding(
        id="cpu-throttling",
        severity=Severity.WARNING,
        summary=f"{path} was stopped by its CPU quota in {ratio:.0%} of its periods{more}",
        evidence=tuple(evidence),
        advice=(Advice("raise or remove the CPU limit of these cgroups; more cores would not help"),),
    )
