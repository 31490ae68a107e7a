"""The post-incident report: what happened, why, what was changed, and whether it helped. Without secrets.

necroscope report -o incident.html          the last ten minutes there are
necroscope report --around nic-reset-20260415T100211.250Z-1208 -o incident.md
necroscope report --fix 20261116T050600Z-disable-unit -o incident.html

Without -o it is printed as Markdown. The file is whole by itself: it refers to no other.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.cli.answer import Answer
from necroscope.cli.arguments import add_store
from necroscope.cli.damaged import tell_damaged
from necroscope.cli.output_file import add_output, refuse_existing, write_output
from necroscope.cli.reports.blocks import Block, Figure, Report
from necroscope.cli.reports.diagnosis_part import diagnosis_part
from necroscope.cli.reports.fixes_part import changes_part, follow_ups_part, verdict_part
from necroscope.cli.reports.flames_part import flames_part
from necroscope.cli.reports.html import to_html
from necroscope.cli.reports.incident import Incident, gather
from necroscope.cli.reports.markdown import to_markdown
from necroscope.cli.reports.redacted import redacted
from necroscope.cli.reports.summary import summary_part, verdict_of
from necroscope.cli.reports.timeline_part import timeline_part
from necroscope.cli.reports.verified import verify_fixes
from necroscope.cli.reports.zombies_part import zombies_part
from necroscope.cli.screen import WIDEST, Screen
from necroscope.cli.selecting import add_range
from necroscope.cli.times import event_name
from necroscope.errors import UsageError
from necroscope.model.timestamp import iso_utc

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
    body = {**_document(report), "damaged": tell_damaged(incident.damaged)}
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
    return {
        "title": report.title,
        "host": report.host,
        "begin": report.begin,
        "end": report.end,
        "verdict": report.verdict,
        "sections": sections,
    }


def _block_document(block: Block) -> dict[str, Any]:
    document = {"kind": type(block).__name__.lower(), **asdict(block)}
    if isinstance(block, Figure):
        del document["svg"]  # its text says the same
    return document
