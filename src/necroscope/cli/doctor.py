"""Look at this node now: every core every second, zombie cgroups, NIC resets, crash loops."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer, findings_exit_code
from necroscope.cli.arguments import add_root, add_store, add_trust_kmsg, look_duration
from necroscope.cli.finding_text import diagnosis_lines, finding_lines, not_checked_lines
from necroscope.cli.look_now import LookSettings, look_now
from necroscope.cli.screen import Screen
from necroscope.findings.catalog import DETECTORS
from necroscope.model.diagnosis import Diagnosis
from necroscope.model.event import Event, event_id
from necroscope.model.examination import Examination
from necroscope.model.finding import Severity
from necroscope.model.shell_command import necroscope_command
from necroscope.model.value_text import value_text
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.store.config import load_trust_kmsg
from necroscope.store.segment import Segment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `doctor` understands."""
    parser.add_argument(
        "-d", "--duration", type=look_duration, default=10.0, help="how long to look (default 10s)"
    )
    add_root(parser, "look at another root: a container's /host, a recorded tree")
    parser.add_argument(
        "--config", type=Path, help="a TOML file with thresholds (default /etc/necroscope/config.toml)"
    )
    add_store(parser, needed=False)
    add_trust_kmsg(parser)


def run(arguments: argparse.Namespace) -> Answer:
    """Sample, examine, answer."""
    thresholds = load_thresholds(arguments.config)
    trust_kmsg = load_trust_kmsg(arguments.config, arguments.trust_kmsg)
    settings = LookSettings(arguments.duration, thresholds, arguments.store, trust_kmsg)
    looked = look_now(Host(arguments.root), settings)
    segment, examination, diagnosis = looked.segment, looked.examination, looked.diagnosis
    return Answer(
        findings_exit_code(examination.findings, interrupted=segment.interrupted),
        _document(segment, examination, diagnosis),
        lambda screen: "\n".join(_text(screen, segment, examination, diagnosis)),
    )


def _document(segment: Segment, examination: Examination, diagnosis: Diagnosis | None) -> dict[str, Any]:
    return {
        "verdict": verdict(examination),
        "host": segment.labels,
        "begin": segment.anchor.iso(segment.begin_ns),
        "seconds": round(segment.seconds, 3),
        "interrupted": segment.interrupted,
        "findings": examination.findings,
        "diagnosis": diagnosis,
        "events": [event_document(event, segment) for event in examination.events],
        "seen": examination.seen,
        "checked": examination.checked,
        "not_checked": examination.not_checked,
        "sources": [_cost_document(source.id, segment) for source in SOURCES],
    }


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
        yield from finding_lines(screen, finding)
    if diagnosis:
        yield from screen.section("Diagnosis", diagnosis_lines(screen, diagnosis))
    if examination.findings:
        yield ""
        more = necroscope_command("explain", dict.fromkeys(one.id for one in examination.findings))
        yield screen.wrap(f"More: {more}", hanging=6)
    seen = ((fact.name, value_text(fact)) for fact in examination.seen)
    yield from screen.section("Seen", [screen.table(seen)])
    yield from not_checked_lines(screen, examination.not_checked)
