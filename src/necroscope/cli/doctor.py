"""Look at this node now: every core every second, zombie cgroups, NIC resets, crash loops."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store, folder, look_duration
from necroscope.cli.diagnosis_text import diagnosis_document, diagnosis_lines
from necroscope.cli.screen import Screen, progress_bar
from necroscope.cli.value_text import value_text
from necroscope.diagnosis.now import diagnose_now
from necroscope.errors import CannotLookError, NecroscopeError
from necroscope.findings.catalog import DETECTORS
from necroscope.findings.examine import examine
from necroscope.findings.thresholds import Thresholds, load_thresholds
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event, event_id
from necroscope.model.examination import Examination, NotChecked
from necroscope.model.finding import Finding, Severity
from necroscope.recording.sampler import sample
from necroscope.recording.segment import Segment
from necroscope.recording.store import Damage, Store
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `doctor` understands."""
    parser.add_argument(
        "-d", "--duration", type=look_duration, default=10.0, help="how long to look (default 10s)"
    )
    parser.add_argument(
        "--root",
        type=folder,
        default=Path("/"),
        help="look at another root: a container's /host, a recorded tree",
    )
    parser.add_argument(
        "--config", type=Path, help="a TOML file with thresholds (default /etc/necroscope/config.toml)"
    )
    add_store(parser, needed=False)


def run(arguments: argparse.Namespace) -> Answer:
    """Sample, examine, answer."""
    thresholds = load_thresholds(arguments.config)
    segment = sample(Host(arguments.root), arguments.duration, progress_bar)
    examination = examine(segment, thresholds)
    if not examination.checked:
        raise CannotLookError(
            f"nothing could be looked at under {arguments.root}: {examination.not_checked[0].reason}",
            hint="--root must hold a machine's /proc and /sys",
        )
    diagnosis, left_out = _diagnose(arguments.store, segment, thresholds)
    examination = replace(examination, not_checked=(*examination.not_checked, *left_out))
    # On a working node some core is always full of user-space work: worth a line, not an alarm.
    alarming = any(finding.severity is not Severity.INFO for finding in examination.findings)
    code = INTERRUPTED if segment.interrupted else int(alarming)
    return Answer(
        code,
        _document(segment, examination, diagnosis),
        lambda screen: "\n".join(_text(screen, segment, examination, diagnosis)),
    )


def _diagnose(
    store: Path | None, segment: Segment, thresholds: Thresholds
) -> tuple[Diagnosis | None, list[NotChecked]]:
    """Why: from what a recorder has of the last hour, else from the look itself."""
    if not segment.is_live:
        return None, []
    damaged: list[Damage] = []
    try:
        recorded = Store(store).segments() if store else []
        errors = []
    except NecroscopeError as error:  # a store that is not ours to read: the look itself is whole
        recorded, errors = [], [error]
    found = diagnose_now(segment, recorded, thresholds, damaged)
    errors += [damage.error for damage in damaged]
    return found, [NotChecked("recordings", error.what, error.hint, ("diagnosis",)) for error in errors]


def _document(segment: Segment, examination: Examination, diagnosis: Diagnosis | None) -> dict[str, Any]:
    return {
        "verdict": verdict(examination),
        "host": asdict(segment.labels),
        "begin": segment.anchor.iso(segment.begin_ns),
        "seconds": round(segment.seconds, 3),
        "interrupted": segment.interrupted,
        "findings": [finding_document(finding) for finding in examination.findings],
        "diagnosis": diagnosis_document(diagnosis) if diagnosis else None,
        "events": [event_document(event, segment) for event in examination.events],
        "seen": [asdict(fact) for fact in examination.seen],
        "checked": examination.checked,
        "not_checked": [asdict(row) for row in examination.not_checked],
        "sources": [_cost_document(source.id, segment) for source in SOURCES],
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding for machines."""
    return {**asdict(finding), "severity": finding.severity.value}


def event_document(event: Event, segment: Segment) -> dict[str, Any]:
    """An event for machines, with an id by which it can be named later."""
    row = asdict(event)
    del row["time_ns"], row["sequence"]
    return {
        "id": event_id(event, event.time_ns + segment.anchor.offset_ns),
        "time": segment.anchor.iso(event.time_ns),
        **row,
    }


def _cost_document(source: str, segment: Segment) -> dict[str, Any]:
    costs = [moment.cost_ns[source] for moment in segment.moments if source in moment.cost_ns]
    return {"id": source, "readings": len(costs), "slowest_seconds": round(max(costs, default=0) / 1e9, 6)}


def verdict(examination: Examination) -> str:
    """One sentence: how bad, and how sure."""
    counts = [
        f"{number} {severity.value}"
        for severity in Severity
        if (number := sum(finding.severity is severity for finding in examination.findings))
    ]
    unchecked = len(DETECTORS) - len(examination.checked)
    missed = f"; {unchecked} of {len(DETECTORS)} checks could not be made" if unchecked else ""
    return (", ".join(counts) if counts else "nothing found") + missed


def _text(
    screen: Screen, segment: Segment, examination: Examination, diagnosis: Diagnosis | None
) -> Iterator[str]:
    labels = segment.labels
    worst = examination.findings[0].severity.value if examination.findings else "good"
    yield screen.paint(screen.wrap(f"{labels.hostname or 'this host'}: {verdict(examination)}"), worst)
    looked = f"looked for {segment.seconds:.0f} s" if segment.is_live else "looked at one recorded moment"
    interrupted = ", interrupted" if segment.interrupted else ""
    cores = f"{labels.cores_online} cores" if labels.cores_online else "cores unknown"
    yield screen.wrap(f"Linux {labels.kernel or 'unknown'}, {cores}, {looked}{interrupted}")
    for finding in examination.findings:
        yield ""
        yield from _finding_text(screen, finding)
    if diagnosis:
        yield ""
        yield screen.paint("Diagnosis", "bold")
        yield from diagnosis_lines(screen, diagnosis)
    if examination.findings:
        yield ""
        names = " ".join(dict.fromkeys(finding.id for finding in examination.findings))
        yield screen.wrap(f"More: necroscope explain {names}", hanging=6)
    if examination.seen:
        yield ""
        yield screen.paint("Seen", "bold")
        yield screen.table((fact.name, value_text(fact)) for fact in examination.seen)
    if examination.not_checked:
        yield ""
        yield screen.paint("Not checked", "bold")
        yield screen.table((row.source, _reason(row)) for row in examination.not_checked)


def _finding_text(screen: Screen, finding: Finding) -> Iterator[str]:
    severity = finding.severity.value
    yield f"{screen.paint(severity.upper(), severity)} {screen.paint(finding.id, 'bold')}"
    yield screen.wrap(finding.summary, 2)
    yield screen.table(((e.name, value_text(e)) for e in finding.evidence), 4)
    sources = dict.fromkeys(e.source for e in finding.evidence)
    yield screen.paint(screen.wrap(f"read from {'; '.join(sources)}", 4, 6), "dim")
    for step in finding.advice:
        yield screen.wrap(f"-> {step}", 2, 5)


def _reason(row: NotChecked) -> str:
    return f"{row.reason}. To see it: {row.hint}" if row.hint else row.reason
