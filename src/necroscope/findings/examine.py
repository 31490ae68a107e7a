"""Run all detectors over a segment: the one runner, which isolates each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from necroscope.findings.catalog import DETECTORS
from necroscope.findings.detector import Case, Detector
from necroscope.model.examination import Examination, NotChecked
from necroscope.model.finding import Evidence, Finding
from necroscope.signals import softirq_delay
from necroscope.signals.cpu_usage import usage_by_cpu
from necroscope.signals.kernel_log_events import find_in_log
from necroscope.signals.pressure import Resource, waited_ratio
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.catalog import SOURCES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.units import UNITS
from necroscope.store.segment import Segment

RESOURCES: tuple[Resource, ...] = ("cpu", "io", "memory")
RUNNING = "look at the running machine"


def examine(segment: Segment, thresholds: Thresholds) -> Examination:
    """What is wrong in a segment, and what could not be told."""
    found = find_in_log(segment)
    case = Case(segment, found.events, thresholds, found.userspace_lines)
    return replace(ask(DETECTORS, case), seen=tuple(seen(segment)))


def ask(detectors: Sequence[Detector], case: Case) -> Examination:
    """What some detectors say of a case, and what they could not tell; nothing that was seen besides."""
    segment, thresholds = case.segment, case.thresholds
    findings: list[Finding] = []
    not_checked = missing_sources(segment, detectors)
    checked = []
    for detector in detectors:
        if not _has_enough(segment, detector):
            continue
        if too_short := _too_short(segment, detector, thresholds):
            not_checked.append(too_short)
            continue
        try:
            findings.extend(detector.look(case))
            checked.append(detector.id)
        except Exception as error:  # noqa: BLE001 - one broken detector must not silence the others
            not_checked.append(_broken(detector, error))
    findings.sort(key=lambda finding: finding.severity.rank)
    return Examination(tuple(findings), case.events, (), tuple(not_checked), tuple(checked))


def _has_enough(segment: Segment, detector: Detector) -> bool:
    enough = [len(segment.series(source)) >= detector.readings_needed for source in detector.needs]
    return any(enough) if detector.any_suffices else all(enough)


def _too_short(segment: Segment, detector: Detector, thresholds: Thresholds) -> NotChecked | None:
    if not detector.seconds_needed or segment.seconds >= thresholds[detector.seconds_needed] - 0.5:
        return None
    needed = thresholds[detector.seconds_needed]
    reason = f"looked for {segment.seconds:.0f} s, and it takes {needed:g} s in a row to say so"
    return NotChecked(detector.id, reason, f"-d {max(needed + 2, 5):g}s or longer", (detector.id,))


def missing_sources(segment: Segment, detectors: Sequence[Detector] = DETECTORS) -> list[NotChecked]:
    """Every source that gave too little, with the detectors that would have looked at it."""
    missing = []
    for source in SOURCES:
        lookers = [detector for detector in detectors if source in (*detector.needs, *detector.uses)]
        affects = tuple(detector.id for detector in lookers)
        needed = max(
            (detector.readings_needed for detector in lookers if source in detector.needs), default=1
        )
        if not affects or len(segment.series(source)) >= needed:
            continue
        reading = segment.absence(source)
        if reading and reading.absence:
            hint = source.hint(reading.absence) if segment.is_live else RUNNING
            missing.append(NotChecked(source.id, reading.reason, hint, affects))
        else:
            missing.append(
                NotChecked(source.id, "only one moment was seen, and a rate needs two", RUNNING, affects)
            )
    return missing


def _broken(detector: Detector, error: Exception) -> NotChecked:
    reason = f"the detector failed: {type(error).__name__}: {error}"
    return NotChecked(detector.id, reason, "please report this with the output of --json", (detector.id,))


def seen(segment: Segment) -> Iterator[Evidence]:
    """The most telling numbers of a segment, whether or not anything is wrong, where they could be read."""
    yield from _busiest_second(segment)
    yield from _softirq_delay(segment)
    ratios = {resource: waited_ratio(segment, resource) for resource in RESOURCES}
    if shares := [f"{resource} {ratio:.0%}" for resource, ratio in ratios.items() if ratio is not None]:
        yield Evidence("time some task waited for", ", ".join(shares), "", "/proc/pressure")
    if cgroups := segment.last(MEMORY_CGROUPS):
        for count in (cgroups.memory, *cgroups.others):
            text = f"{count.tracked:,} tracked, {count.in_use:,} in use, {count.dying:,} dying"
            yield Evidence(f"cgroups, {count.hierarchy}", text, "", count.read_from)
    if queues := segment.last(NIC_QUEUES):
        cores = sorted({core for queue in queues for core in queue.cores})
        names = ",".join(sorted({queue.device for queue in queues}))
        text = f"{len(queues)} interrupts of {names}, on cores {','.join(map(str, cores))}"
        yield Evidence("NIC queues", text, "", "/proc/interrupts")
    if logs := segment.series(KERNEL_LOG):
        lines = sum(len(log.value.lines) for log in logs)
        yield Evidence("kernel log", lines, "lines", logs[-1].value.way)
        if lost := sum(log.value.lost for log in logs):
            yield Evidence("kernel log overruns", lost, "times", logs[-1].value.way)
    if units := segment.last(UNITS):
        yield Evidence("services running, starting or failed", len(units), "services", "systemd")


def _busiest_second(segment: Segment) -> Iterator[Evidence]:
    seconds = [(usage, core) for core, usages in usage_by_cpu(segment).items() for usage in usages]
    if seconds:
        usage, core = max(seconds, key=lambda item: item[0].ratio("kernel"))
        modes = ", ".join(
            f"{usage.ratio(mode):.0%} {mode}" for mode in ("system", "softirq", "user", "steal")
        )
        yield Evidence("second with the most kernel time", f"core {core}: {modes}", "", "/proc/stat")


def _softirq_delay(segment: Segment) -> Iterator[Evidence]:
    if delays := softirq_delay.over(segment):
        longest = max(delays, key=lambda delay: delay.delay_ns)
        text = f"{longest.delay_ns / 1e6:.1f} ms ({longest.thread.name})"
        yield Evidence("longest wait of a softirq thread", text, "", "/proc/PID/schedstat")
