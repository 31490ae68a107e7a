"""Run all detectors over a segment: the one runner, which isolates each."""

from __future__ import annotations

from necroscope.findings.catalog import DETECTORS
from necroscope.findings.detector import Case, Detector
from necroscope.findings.kernel_log_events import find_events
from necroscope.findings.seen import seen
from necroscope.findings.thresholds import Thresholds
from necroscope.model.examination import Examination, NotChecked
from necroscope.model.finding import Finding
from necroscope.recording.segment import Segment
from necroscope.sources.catalog import SOURCES


def examine(segment: Segment, thresholds: Thresholds) -> Examination:
    """What is wrong in a segment, and what could not be told."""
    case = Case(segment, find_events(segment), thresholds)
    findings: list[Finding] = []
    not_checked = missing_sources(segment)
    checked = []
    for detector in DETECTORS:
        if any(len(segment.series(source)) < detector.readings_needed for source in detector.needs):
            continue
        try:
            findings.extend(detector.look(case))
            checked.append(detector.id)
        except Exception as error:  # noqa: BLE001 - one broken detector must not silence the others
            not_checked.append(_broken(detector, error))
    findings.sort(key=lambda finding: finding.severity.rank)
    return Examination(tuple(findings), case.events, tuple(seen(segment)), tuple(not_checked), tuple(checked))


def missing_sources(segment: Segment) -> list[NotChecked]:
    """Every source that gave too little, with the detectors that would have looked at it."""
    missing = []
    for source in SOURCES:
        lookers = [detector for detector in DETECTORS if source in (*detector.needs, *detector.uses)]
        affects = tuple(detector.id for detector in lookers)
        needed = max(
            (detector.readings_needed for detector in lookers if source in detector.needs), default=1
        )
        reading = segment.absence(source)
        if reading and reading.absence:
            hint = source.hint(reading.absence) if segment.is_live else "look at the running machine"
            missing.append(NotChecked(source.id, reading.reason, hint, affects))
        elif len(segment.series(source)) < needed:
            hint = "look at the running machine"
            missing.append(
                NotChecked(source.id, "only one moment was seen, and a rate needs two", hint, affects)
            )
    return missing


def _broken(detector: Detector, error: Exception) -> NotChecked:
    reason = f"the detector failed: {type(error).__name__}: {error}"
    return NotChecked(detector.id, reason, "please report this with the output of --json", (detector.id,))
