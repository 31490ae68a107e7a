"""Findings, diagnoses and what was not checked, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from necroscope.cli.screen import Screen
from necroscope.findings.unit_held_back import sentence
from necroscope.model.accident import Accident
from necroscope.model.culprit import Suspect
from necroscope.model.diagnosis import Diagnosis, Link
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Evidence, Finding
from necroscope.model.value_text import value_text

EVIDENCE_SHOWN = 10  # of a link; --json has all of it


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
    yield from screen.section("Not checked", [screen.table((row.source, _reason(row)) for row in rows)])


def _reason(row: NotChecked) -> str:
    return f"{row.reason}. To see it: {row.hint}" if row.hint else row.reason


def accident_lines(screen: Screen, accidents: Iterable[Accident]) -> Iterator[str]:
    """Units that are held back, for people; nothing where there is none."""
    lines = []
    for one in accidents:
        lines += [screen.wrap(f"- {sentence(one)}", 2, 4), screen.table(map(_fact, one.evidence), 6)]
    yield from screen.section("By accident", lines)


def diagnosis_lines(screen: Screen, diagnosis: Diagnosis) -> Iterator[str]:
    """A diagnosis for people: the verdict, the chain from the root down, what else it could be."""
    yield screen.wrap(diagnosis.verdict)
    yield screen.paint(screen.wrap(f"{diagnosis.conclusion}, {diagnosis.symptom}", 2), "dim")
    for number, link in enumerate(diagnosis.chain, 1):
        yield ""
        yield from _link_lines(screen, number, link)
    if diagnosis.culprit:
        yield ""
        yield screen.wrap(f"Culprit: {suspect_text(diagnosis.culprit)}", hanging=2)
    for title, rivals in (("Ruled out", diagnosis.ruled_out), ("Not ruled out", diagnosis.standing)):
        yield from screen.section(
            title, _bullets(screen, (f"{one.explanation}: {one.why}" for one in rivals))
        )
    yield from accident_lines(screen, diagnosis.by_accident)
    yield from screen.section("Missing in the chain", _bullets(screen, diagnosis.missing))
    unknown = dict.fromkeys(row.reason for row in diagnosis.not_checked)
    yield from screen.section("Could not be checked", _bullets(screen, unknown))
    if diagnosis.advice:
        yield ""
        yield from (screen.wrap(f"-> {step}", 0, 3) for step in diagnosis.advice)


def suspect_text(suspect: Suspect) -> str:
    """A suspect in one line."""
    process = suspect.process or "many processes"
    where = f"{process} in {suspect.function}" if suspect.function else process
    return f"{where}, {suspect.share:.0%} of the time, {suspect.quiet_share:.1%} in quiet seconds"


def _link_lines(screen: Screen, number: int, link: Link) -> Iterator[str]:
    yield screen.wrap(f"{number}. {link.cause}", 0, 3)
    yield screen.wrap(f"=> {link.effect} [{link.strength.value}]", 3, 6)
    yield screen.table((_fact(one) for one in link.evidence[:EVIDENCE_SHOWN]), 6)


def _fact(evidence: Evidence) -> tuple[str, str]:
    return evidence.name, value_text(evidence)


def _bullets(screen: Screen, items: Iterable[str]) -> Iterator[str]:
    return (screen.wrap(f"- {item}", 2, 4) for item in items)
