"""What is wrong with a node now, as JSON: from a sealing child to the recorder, and to the next child."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from necroscope.model.finding import Severity
from necroscope.model.node_state import ActiveFinding, NodeState

# A child's answer goes through a pipe of 64 KiB that is read when it has ended: with more it would never end.
LONGEST_TEXT, LONGEST_SUBJECT = 240, 100


def state_document(state: NodeState) -> dict[str, Any]:
    """A state; long texts are cut."""
    return {
        "examined_utc_ns": state.examined_utc_ns,
        "findings": [finding_row(finding) for finding in state.findings],
        "checked": list(state.checked),
        "not_checked": [[detector, _cut(why, LONGEST_TEXT)] for detector, why in state.not_checked],
    }


def parse_state(document: Mapping[str, Any]) -> NodeState:
    """The state in such a document; ValueError where it is none."""
    try:
        return NodeState(
            examined_utc_ns=int(document["examined_utc_ns"]),
            findings=tuple(map(parse_finding, document["findings"])),
            checked=tuple(document["checked"]),
            not_checked=tuple((detector, why) for detector, why in document["not_checked"]),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no state of a node: {error}") from error


def finding_row(finding: ActiveFinding) -> dict[str, Any]:
    """One finding."""
    summary, subject = _cut(finding.summary, LONGEST_TEXT), _cut(finding.subject, LONGEST_SUBJECT)
    return {**asdict(finding), "severity": finding.severity.value, "summary": summary, "subject": subject}


def parse_finding(row: Mapping[str, Any]) -> ActiveFinding:
    """One finding again."""
    return ActiveFinding(**{**row, "severity": Severity(row["severity"])})


def _cut(text: str, longest: int) -> str:
    """As much of a text as has so many letters in JSON, where others than ASCII have six or twelve each."""
    text = text[:longest]
    while len(json.dumps(text)) > longest + 2:
        text = text[:-1]
    return text
