"""The first part of a report: what it was, in a sentence, and where and when."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.cli.diagnosis_text import suspect_text
from necroscope.cli.reports.blocks import Paragraph, Section, Table
from necroscope.cli.reports.incident import Incident
from necroscope.cli.reports.verified import Judged, windows_text
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Verification


def verdict_of(incident: Incident) -> str:
    """The diagnosis in one sentence; else what there was to diagnose, or that there was nothing."""
    if incident.diagnosis:
        return incident.diagnosis.verdict
    if incident.symptom:
        return f"{incident.symptom.event.text}; of the time around it no counters were recorded"
    return "nothing to explain: no NIC reset, no core in the kernel for seconds, no leak"


def summary_part(incident: Incident, judged: dict[str, Judged]) -> Section:
    """Where, when, who, and whether what was done helped."""
    return Section(
        "summary",
        "Summary",
        (Paragraph(verdict_of(incident)), Table(("", ""), tuple(_facts(incident, judged)))),
    )


def _facts(incident: Incident, judged: dict[str, Judged]) -> Iterator[tuple[str, str]]:
    chosen = incident.chosen
    yield "host", chosen.host
    labels = chosen.segments[-1].description.host
    where = ", ".join(filter(None, (labels.instance_type, labels.zone, labels.machine_image)))
    yield from ((name, text) for name, text in (("kernel", labels.kernel), ("machine", where)) if text)
    yield "range", f"{iso_utc(chosen.time.begin_ns)} to {iso_utc(chosen.time.end_ns)}"
    if incident.symptom:
        yield "symptom", f"{incident.symptom.id}, {iso_utc(incident.symptom.utc_ns)}"
    if incident.diagnosis and incident.diagnosis.culprit:
        yield "culprit", suspect_text(incident.diagnosis.culprit)
    for fix in incident.fixes:
        one = judged.get(fix.id)
        yield "fix", f"{fix.id}, {fix.state.value}{f'; {_verdict(one.first, one.source)}' if one else ''}"
        if one and one.changed:
            yield "judged anew", _verdict(one.changed, "all that is recorded by now")


def _verdict(verification: Verification, source: str) -> str:
    said = f"{verification.verdict.value}: {verification.summary}"
    return f"{said} ({source}; {windows_text(verification)})"
