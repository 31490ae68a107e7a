"""An audit as CI systems read it: SARIF 2.1.0 (code scanning) and JUnit XML (test reports)."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from necroscope import __version__
from necroscope.findings.catalog import ALL_DETECTORS
from necroscope.findings.unit_evidence import is_enabled
from necroscope.inventory.behaviour import JUDGED
from necroscope.model.finding import Finding, Severity
from necroscope.model.inventory import Inventory
from necroscope.model.judgement import Judgement
from necroscope.model.value_text import value_text
from necroscope.model.visible_text import visible_text

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
RULES = tuple(one for one in ALL_DETECTORS if one.id in JUDGED)


def to_sarif(inventory: Inventory, judgement: Judgement) -> str:
    """One run: a rule for each kind of finding, a result for each finding; allowed ones are suppressed."""
    files = {unit.name: unit.file for unit in inventory.units}
    results = [_result(finding, files) for finding in judgement.findings]
    for one in judgement.allowed:
        accepted = {"kind": "external", "status": "accepted", "justification": one.reason}
        results.append({**_result(one.finding, files), "suppressions": [accepted]})
    notes = [
        {"level": "note", "message": {"text": f"not checked: {row.source}: {row.reason}"}}
        for row in judgement.not_checked
    ]
    notes += [{"level": "warning", "message": {"text": f"policy: {line}"}} for line in judgement.unused]
    driver = {
        "name": "necroscope",
        "version": __version__,
        "rules": [_rule(one.id, one.doc) for one in RULES],
    }
    invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(id: str, manual: str) -> dict[str, Any]:
    first, _, rest = inspect.cleandoc(manual).partition("\n\n")
    return {
        "id": id,
        "shortDescription": {"text": " ".join(first.split())},
        "fullDescription": {"text": " ".join(rest.split())},
        "help": {"text": manual},
    }


def _result(finding: Finding, files: Mapping[str, str]) -> dict[str, Any]:
    # A path in the image: relative, as SARIF wants what lies below the root of what was scanned.
    place = files.get(finding.subject, "").lstrip("/") or finding.subject
    return {
        "ruleId": finding.id,
        "ruleIndex": [one.id for one in RULES].index(finding.id),
        "level": LEVELS[finding.severity],
        "message": {"text": _details(finding)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": place, "uriBaseId": "ROOT"},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"name": finding.subject, "kind": "resource"}],
            }
        ],
        "partialFingerprints": {"unit/v1": _fingerprint(finding)},
    }


def _fingerprint(finding: Finding) -> str:
    """The same for the same trouble with the same unit, so that a report can be compared with the last."""
    return hashlib.sha256(f"{finding.id} {finding.subject}".encode()).hexdigest()


def to_junit(inventory: Inventory, judgement: Judgement) -> str:
    """One test for every enabled unit: failed with what was found, skipped where the policy allows it."""
    found: dict[str, list[Finding]] = {}
    for finding in judgement.findings:
        if finding.severity is not Severity.INFO:
            found.setdefault(finding.subject, []).append(finding)
    allowed = {one.finding.subject: one.reason for one in judgement.allowed}
    enabled = [unit.name for unit in inventory.units if is_enabled(unit)]
    names = list(dict.fromkeys([*enabled, *found, *allowed]))
    skipped = [name for name in names if name in allowed and name not in found]
    suite = ElementTree.Element(
        "testsuite",
        name="necroscope audit",
        tests=str(len(names)),
        failures=str(len(found)),
        errors="0",
        skipped=str(len(skipped)),
        time=f"{inventory.seconds:.3f}",
    )
    for name in names:
        case = ElementTree.SubElement(suite, "testcase", classname="units", name=_xml(name), time="0")
        if name in found:
            first = found[name][0]
            failure = ElementTree.SubElement(case, "failure", type=first.id, message=_xml(first.summary))
            failure.text = _xml("\n\n".join(map(_details, found[name])))
        elif name in allowed:
            ElementTree.SubElement(case, "skipped", message=_xml(f"allowed by the policy: {allowed[name]}"))
    rows = [f"policy: {line}" for line in judgement.unused]
    rows += [f"not checked: {row.source}: {row.reason}" for row in judgement.not_checked]
    ElementTree.SubElement(suite, "system-out").text = _xml("\n".join(rows))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def _details(finding: Finding) -> str:
    evidence = [f"  {one.name}: {value_text(one)}" for one in finding.evidence]
    return "\n".join([finding.summary, *evidence, *(f"-> {step}" for step in finding.advice)])


def _xml(text: str) -> str:
    """Without what XML cannot hold: a unit file may have any byte in it."""
    return "\n".join(visible_text(line) for line in text.split("\n"))


FORMATS: dict[str, Callable[[Inventory, Judgement], str]] = {"sarif": to_sarif, "junit": to_junit}
