"""Cgroups stopped by their own CPU quota."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.signals.throttling import over
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
    periods, ratio = case.limit("cpu-throttling.periods"), case.limit("cpu-throttling.throttled_ratio")
    throttled = [
        one
        for one in over(case.segment).values()
        if one.periods >= periods and one.throttled_periods and one.ratio >= ratio
    ]
    worst = sorted(throttled, key=lambda one: (one.ratio, one.seconds, one.path), reverse=True)
    if not worst:
        return
    evidence = [Evidence("cgroups throttled", len(worst), "cgroups", "cpu.stat")]
    for one in worst[:CGROUPS_NAMED]:
        where = f"{one.path}/cpu.stat"
        evidence.append(Evidence(f"periods throttled of {one.path}", round(one.ratio, 3), "ratio", where))
        evidence.append(Evidence(f"time lost by {one.path}", round(one.seconds, 3), "seconds", where))
    more = f", and {len(worst) - 1} more" if len(worst) > 1 else ""
    yield Finding(
        id="cpu-throttling",
        severity=Severity.WARNING,
        summary=f"{worst[0].path} was stopped by its CPU quota in {worst[0].ratio:.0%} of its periods{more}",
        evidence=tuple(evidence),
        advice=(Advice("raise or remove the CPU limit of these cgroups; more cores would not help"),),
    )
