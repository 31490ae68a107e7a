"""Judge an inventory: run the detectors of units, then let the policy have its say."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import replace

from necroscope.findings.catalog import UNIT_DETECTORS
from necroscope.findings.unit_evidence import is_enabled, unit_evidence
from necroscope.inventory.policy import Policy, Rule
from necroscope.model.advice import Advice
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.inventory import AuditedUnit, Inventory
from necroscope.model.judgement import Allowed, Judgement
from necroscope.model.remedy_ids import DISABLE_UNIT
from necroscope.model.shell_command import shell_command

STARTED_BY_THEMSELVES = (".service", ".socket", ".timer", ".path")


def judge(inventory: Inventory, loops: Iterable[Finding], policy: Policy, today: datetime.date) -> Judgement:
    """All findings about units; `loops` are those of `unit-crash-loop`, which watches them over time."""
    found: list[Finding] = []
    not_checked = list(inventory.not_checked)
    for detector in UNIT_DETECTORS:
        try:
            found += detector.look(inventory)
        except Exception as error:  # noqa: BLE001 - one broken detector must not silence the others
            reason = f"the detector failed: {type(error).__name__}: {error}"
            hint = "please report this with the output of --json"
            not_checked.append(NotChecked(detector.id, reason, hint, (detector.id,)))
    found = _merged([*found, *_by_policy(inventory, policy, today)])
    found += loops  # behind what says more about a unit
    findings, allowed = _divide(found, policy, today)
    return Judgement(findings, allowed, _unused(inventory, found, policy, today), tuple(not_checked))


def _by_policy(inventory: Inventory, policy: Policy, today: datetime.date) -> Iterator[Finding]:
    """What only the policy objects to."""
    for unit in inventory.units:
        if not is_enabled(unit):
            continue
        is_asked_about = policy.reports_others and unit.name.endswith(STARTED_BY_THEMSELVES)
        if forbidden := _first(policy.forbid, unit.name, today):
            yield _objection(unit, f"is enabled, and the policy forbids it: {forbidden.reason}", forbidden)
        elif is_asked_about and not _first(policy.allow, unit.name, today):
            yield _objection(unit, "is enabled, and the policy has no reason for it", None)


def _objection(unit: AuditedUnit, how: str, rule: Rule | None) -> Finding:
    disable = shell_command(["systemctl", "disable"], [unit.name])
    said = Evidence("policy", rule.reason if rule else 'others = "report"', "", rule.pattern if rule else "")
    return Finding(
        id="unit-default-enabled",
        severity=Severity.WARNING,
        summary=f"{unit.name} {how}",
        evidence=(said, *unit_evidence(unit)),
        advice=(Advice("disable it, or allow it with a reason in the policy", disable),),
        subject=unit.name,
        remedy=DISABLE_UNIT,
    )


def _merged(found: Iterable[Finding]) -> list[Finding]:
    """One finding of a kind for each unit: what the policy says is evidence of the one that is there."""
    merged: dict[tuple[str, str], Finding] = {}
    for finding in found:
        key = finding.id, finding.subject
        before = merged.get(key)
        merged[key] = replace(before, evidence=(finding.evidence[0], *before.evidence)) if before else finding
    return list(merged.values())


def _divide(
    found: Iterable[Finding], policy: Policy, today: datetime.date
) -> tuple[tuple[Finding, ...], tuple[Allowed, ...]]:
    findings, allowed = [], []
    for finding in sorted(found, key=lambda finding: finding.severity.rank):
        rule = _first(policy.allow, finding.subject, today)
        if rule and not _first(policy.forbid, finding.subject, today):
            allowed.append(Allowed(finding, rule.reason))
        else:
            findings.append(finding)
    return tuple(findings), tuple(allowed)


def _unused(
    inventory: Inventory, found: Iterable[Finding], policy: Policy, today: datetime.date
) -> tuple[str, ...]:
    """What has no effect: it matches no enabled unit and no finding, or its time is over."""
    names = {unit.name for unit in inventory.units if is_enabled(unit)} | {one.subject for one in found}
    said = []
    for rule in policy.allow:
        if any(rule.matches(name, today) and _first(policy.forbid, name, today) for name in names):
            said.append(f"{rule.pattern} is allowed and forbidden, and forbid goes first")
    for rule in (*policy.allow, *policy.forbid):
        if rule.until is not None and rule.until < today:
            said.append(f"{rule.pattern} ended on {rule.until}")
        elif not any(rule.matches(name, today) for name in names):
            said.append(f"{rule.pattern} matches no enabled unit")
    return tuple(said)


def _first(rules: Iterable[Rule], unit: str, today: datetime.date) -> Rule | None:
    return next((rule for rule in rules if rule.matches(unit, today)), None)
