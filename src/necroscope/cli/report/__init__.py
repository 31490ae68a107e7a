"""The post-incident report: what happened, why, what was changed, and whether it helped. Without secrets.

necroscope report -o incident.html          the last ten minutes there are
necroscope report --around nic-reset-20260415T100211.250Z-1208 -o incident.md
necroscope report --fix 20261116T050600Z-disable-unit -o incident.html

Without -o it is printed as Markdown. The file is whole by itself: it refers to no other.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer, note_damaged
from necroscope.cli.arguments import add_store
from necroscope.cli.finding_text import suspect_text
from necroscope.cli.output_file import add_output, refuse_existing, write_output
from necroscope.cli.report.blocks import Block, Figure, Paragraph, Report, Section, Table, redacted
from necroscope.cli.report.diagnosis_part import diagnosis_part
from necroscope.cli.report.fixes_part import changes_part, follow_ups_part, verdict_part
from necroscope.cli.report.flames_part import flames_part
from necroscope.cli.report.html import to_html
from necroscope.cli.report.incident import Incident, gather
from necroscope.cli.report.markdown import to_markdown
from necroscope.cli.report.timeline_part import timeline_part
from necroscope.cli.report.verified import Judged, verify_fixes, windows_text
from necroscope.cli.report.zombies_part import zombies_part
from necroscope.cli.screen import WIDEST, Screen
from necroscope.cli.selecting import add_range
from necroscope.cli.times import event_name
from necroscope.errors import UsageError
from necroscope.model.timestamp import iso_utc
from necroscope.model.verdict import Verification

FORMATS: dict[str, Callable[[Report], str]] = {
    ".md": lambda report: to_markdown(report, Screen(width=WIDEST)),
    ".html": to_html,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words that `report` understands."""
    add_store(parser)
    add_range(parser)
    parser.add_argument("--around", type=event_name, metavar="EVENT_ID", help="this event, and its time")
    parser.add_argument("--fix", metavar="ID", help="this fix only, and its time if no other is given")
    parser.add_argument("--config", type=Path, help="a TOML file with thresholds")
    add_output(parser, f"write a file instead: {', '.join(FORMATS)}")


def run(arguments: argparse.Namespace) -> Answer:
    """Gather, write, answer."""
    encode = _format(arguments)
    refuse_existing(arguments)
    incident = gather(arguments)
    report = redacted(_report(incident))
    body = {**_document(report), "damaged": note_damaged(incident.damaged)}
    if not encode:
        return Answer(0, body, lambda screen: to_markdown(report, screen).rstrip("\n"))
    write_output(arguments.output, encode(report).encode(), force=arguments.force)
    written = {**body, "written": str(arguments.output)}
    return Answer(0, written, lambda screen: screen.wrap(f"{arguments.output}: {report.verdict}"))


def _format(arguments: argparse.Namespace) -> Callable[[Report], str] | None:
    if not arguments.output:
        return None
    if arguments.output.suffix not in FORMATS:
        hint = f"the name must end in one of: {', '.join(FORMATS)}"
        raise UsageError(f"{arguments.output}: no such format", hint=hint)
    return FORMATS[arguments.output.suffix]


def _report(incident: Incident) -> Report:
    judged, why_not = verify_fixes(incident)
    return Report(
        title=f"Incident on {incident.host}",
        host=incident.host,
        begin=iso_utc(incident.chosen.time.begin_ns),
        end=iso_utc(incident.chosen.time.end_ns),
        verdict=verdict_of(incident),
        sections=(
            summary_part(incident, judged),
            timeline_part(incident),
            diagnosis_part(incident),
            flames_part(incident),
            zombies_part(incident),
            changes_part(incident),
            verdict_part(incident, judged, why_not),
            follow_ups_part(incident),
        ),
    )


def _document(report: Report) -> dict[str, Any]:
    sections = [
        {"id": one.id, "title": one.title, "blocks": [_block_document(block) for block in one.blocks]}
        for one in report.sections
    ]
    return {**asdict(report), "sections": sections}


def _block_document(block: Block) -> dict[str, Any]:
    document = {"kind": type(block).__name__.lower(), **asdict(block)}
    if isinstance(block, Figure):
        del document["svg"]  # its text says the same
    return document


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
