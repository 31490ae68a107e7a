"""Segments built by hand, for tests of what comes after recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from necroscope.findings.detector import Case, Detector
from necroscope.model.finding import Finding
from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.signals.kernel_log_events import find_in_log
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import Cores, CoreTime
from necroscope.sources.kernel_log import KernelLog, LogLine
from necroscope.sources.source import Source
from necroscope.store.clock import Anchor
from necroscope.store.segment import Moment, Segment

BEGIN_NS = 10**15  # some eleven days of uptime


def segment_of(series: dict[Source[Any], Sequence[Any]], *, is_live: bool = True) -> Segment:
    """One moment a second; a source whose list is shorter has its last value at the end only."""
    length = max(len(values) for values in series.values())
    moments = []
    for second in range(length):
        readings = {}
        for source, values in series.items():
            if len(values) == length or second < len(values) - 1:
                readings[source.id] = _reading(values[second])
            elif second == length - 1:
                readings[source.id] = _reading(values[-1])
        moments.append(Moment(BEGIN_NS + second * 10**9, readings, dict.fromkeys(readings, 1000)))
    labels = Labels(hostname="node", cores_online=2, cores_possible=96)
    return Segment(labels, Anchor(BEGIN_NS, 1_776_247_331 * 10**9), tuple(moments), is_live)


def _reading(value: Any) -> Reading[Any]:
    return value if isinstance(value, Reading) else Reading(value)


def look(detector: Detector, segment: Segment, **limits: float) -> list[Finding]:
    """What one detector finds, with some thresholds changed."""
    thresholds = dict(load_thresholds(None))
    thresholds |= {f"{detector.id}.{name}": value for name, value in limits.items()}
    found = find_in_log(segment)
    return list(detector.look(Case(segment, found.events, thresholds, found.userspace_lines)))


def evidence(finding: Finding) -> dict[str, Any]:
    """A finding's evidence by name."""
    return {fact.name: fact.value for fact in finding.evidence}


def core_seconds(*cores: Sequence[str]) -> list[Cores]:
    """Counters of cores that spend each second as given: "system", "user", "idle", or "system=60,user=40"."""
    totals = [
        dict.fromkeys(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), 0)
        for _ in cores
    ]
    moments = [tuple(CoreTime(core, **modes) for core, modes in enumerate(totals))]
    for second in range(len(cores[0])):
        for modes, plan in zip(totals, cores, strict=True):
            for part in plan[second].split(","):
                mode, _, ticks = part.partition("=")
                modes[mode] += int(ticks or 100)
        moments.append(tuple(CoreTime(core, **modes) for core, modes in enumerate(totals)))
    return moments


def kernel_log(
    *lines: str, age_seconds: float = 10, facility: int = 0, trusts_programs: bool = False
) -> KernelLog:
    """Lines of the kernel log, all of the same age when the segment begins."""
    time_ns = BEGIN_NS - int(age_seconds * 1e9)
    logged = tuple(LogLine(time_ns, text, facility, n) for n, text in enumerate(lines))
    return KernelLog(logged, 0, "/dev/kmsg", trusts_programs)
