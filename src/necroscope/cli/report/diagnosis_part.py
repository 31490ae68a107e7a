"""Why it happened: the chain with its evidence, what was ruled out, and what could not be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from necroscope.cli.report.blocks import Block, Bullets, Heading, Paragraph, Section, Table
from necroscope.cli.report.incident import Incident
from necroscope.findings.unit_held_back import sentence
from necroscope.model.culprit import Suspect
from necroscope.model.diagnosis import Diagnosis, Link
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Evidence
from necroscope.model.value_text import value_text

# How the reasons begin why something about a leak could not be told (diagnosis/leak_facts.py).
ABOUT_LEAKS = ("zombies", "who leaks", "which services", "whether leaks")


def diagnosis_part(incident: Incident) -> Section:
    """The chain of the main symptom in full, and the others in a sentence each."""
    diagnosis = incident.diagnosis
    if diagnosis is None:
        why = (
            "no counters were recorded around the symptom"
            if incident.symptom
            else "there is no symptom to explain in this range"
        )
        return Section("cause", "Cause", (Paragraph(f"No diagnosis: {why}."),))
    return Section(
        "cause", "Cause", (*_chain(diagnosis), *_alternatives(diagnosis), *_others(incident.diagnoses[1:]))
    )


def _chain(diagnosis: Diagnosis) -> Iterator[Block]:
    yield Paragraph(f"Of {diagnosis.symptom}. Conclusion: {diagnosis.conclusion}.")
    if not diagnosis.chain:
        yield Paragraph("No causal chain leads to this symptom.")
    for number, link in enumerate(diagnosis.chain, 1):
        yield from _link(number, link)
    if diagnosis.culprit:
        yield Heading("Culprit")
        yield culprit_table(diagnosis.culprit)
    if diagnosis.missing:
        yield Heading("Missing in the chain")
        yield Bullets(diagnosis.missing)


def _link(number: int, link: Link) -> Iterator[Block]:
    yield Heading(f"{number}. {link.cause}")
    yield Paragraph(f"Effect: {link.effect}. Evidence: {link.strength.value}.")
    yield _evidence(link.evidence)
    yield Paragraph(f"See {link.reference}. It would be refuted if {link.refuted_by}.")


def _evidence(evidence: Sequence[Evidence]) -> Table:
    rows = tuple((one.name, value_text(one), one.source) for one in evidence)
    return Table(("evidence", "value", "read from"), rows)


def culprit_table(culprit: Suspect) -> Table:
    """Who and what ran more than usual, and how sure that is."""
    lift = "never seen in a quiet second" if culprit.lift is None else f"{culprit.lift:,.1f} times as much"
    return Table(
        ("", ""),
        (
            ("process", culprit.process or "many"),
            ("kernel function", culprit.function or "none: in user space"),
            ("share of the time", f"{culprit.share:.1%}"),
            ("in quiet seconds", f"{culprit.quiet_share:.1%} ({lift})"),
            ("chance alone does this", f"{culprit.probability:.2g}"),
        ),
    )


def _alternatives(diagnosis: Diagnosis) -> Iterator[Block]:
    for title, rivals in (("Ruled out", diagnosis.ruled_out), ("Not ruled out", diagnosis.standing)):
        if rivals:
            yield Heading(title)
            yield Table(("explanation", "why"), tuple((rival.explanation, rival.why) for rival in rivals))
    if diagnosis.by_accident:
        yield Heading("By accident")
        yield Bullets(tuple(map(sentence, diagnosis.by_accident)))
    unknown = tuple(dict.fromkeys(row.reason for row in diagnosis.not_checked if _matters(diagnosis, row)))
    if unknown:
        yield Heading("Could not be checked")
        yield Bullets(unknown)


def _matters(diagnosis: Diagnosis, row: NotChecked) -> bool:
    """A leak is explained without the cores, the network and the samples."""
    return not diagnosis.symptom.startswith("cgroup-leak-") or row.reason.startswith(ABOUT_LEAKS)


def _others(diagnoses: Sequence[Diagnosis]) -> Iterator[Block]:
    if diagnoses:
        yield Heading("Other symptoms in this range")
        yield Bullets(tuple(f"{one.verdict} [{one.symptom}]" for one in diagnoses))
