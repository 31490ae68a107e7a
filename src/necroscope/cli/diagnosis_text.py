"""A diagnosis for people and for machines: `diagnose` and `doctor` show it alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from necroscope.cli.screen import Screen
from necroscope.findings.unit_held_back import sentence
from necroscope.model.accident import Accident
from necroscope.model.culprit import Suspect
from necroscope.model.diagnosis import Diagnosis, Link, Rival
from necroscope.model.finding import Evidence
from necroscope.model.value_text import value_text

EVIDENCE_SHOWN = 10  # of a link; --json has all of it


def accident_document(accident: Accident) -> dict[str, Any]:
    """A unit that is held back, for machines."""
    return asdict(accident)


def accident_lines(screen: Screen, accidents: Iterable[Accident]) -> Iterator[str]:
    """Units that are held back, for people; nothing where there is none."""
    for number, accident in enumerate(accidents):
        if not number:
            yield ""
            yield screen.paint("By accident", "bold")
        yield screen.wrap(f"- {sentence(accident)}", 2, 4)
        yield screen.table(map(_fact, accident.evidence), 6)


def diagnosis_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis for machines."""
    document = asdict(diagnosis)
    document["advice"] = [*map(str, diagnosis.advice)]
    document["chain"] = [{**asdict(link), "strength": link.strength.value} for link in diagnosis.chain]
    return document


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
        if rivals:
            yield ""
            yield screen.paint(title, "bold")
            yield from _rival_lines(screen, rivals)
    yield from accident_lines(screen, diagnosis.by_accident)
    if diagnosis.missing:
        yield ""
        yield screen.paint("Missing in the chain", "bold")
        yield from (screen.wrap(f"- {what}", 2, 4) for what in diagnosis.missing)
    unknown = dict.fromkeys(row.reason for row in diagnosis.not_checked)
    if unknown:
        yield ""
        yield screen.paint("Could not be checked", "bold")
        yield from (screen.wrap(f"- {reason}", 2, 4) for reason in unknown)
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


def _rival_lines(screen: Screen, rivals: tuple[Rival, ...]) -> Iterator[str]:
    for rival in rivals:
        yield screen.wrap(f"- {rival.explanation}: {rival.why}", 2, 4)
