"""Findings and what was not checked, for machines and for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from necroscope.cli.screen import Screen
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding
from necroscope.model.value_text import value_text


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding for machines."""
    advice = [*map(str, finding.advice)]
    return {**asdict(finding), "severity": finding.severity.value, "advice": advice}


def finding_lines(screen: Screen, finding: Finding) -> Iterator[str]:
    """A finding for people: what, why we say so, and what to do."""
    severity = finding.severity.value
    yield f"{screen.paint(severity.upper(), severity)} {screen.paint(finding.id, 'bold')}"
    yield screen.wrap(finding.summary, 2)
    yield screen.table(((e.name, value_text(e)) for e in finding.evidence), 4)
    sources = dict.fromkeys(e.source for e in finding.evidence if e.source)
    yield screen.paint(screen.wrap(f"read from {'; '.join(sources)}", 4, 6), "dim")
    for step in finding.advice:
        yield screen.wrap(f"-> {step}", 2, 5)


def not_checked_lines(screen: Screen, rows: Sequence[NotChecked]) -> Iterator[str]:
    """What could not be looked at, and what would help; nothing where all could."""
    if rows:
        yield ""
        yield screen.paint("Not checked", "bold")
        yield screen.table((row.source, reason_text(row)) for row in rows)


def reason_text(row: NotChecked) -> str:
    """Why something was not checked, and what would help."""
    return f"{row.reason}. To see it: {row.hint}" if row.hint else row.reason
