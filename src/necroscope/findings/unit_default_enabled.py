"""Units that run because nobody decided against them, and do no good."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import unit_detector
from necroscope.findings.unit_evidence import clients_of, is_default, starters, unit_evidence
from necroscope.model.advice import Advice, fix_command, journal_command
from necroscope.model.finding import Finding, Severity
from necroscope.model.inventory import AuditedUnit, Inventory
from necroscope.model.remedy_ids import DISABLE_UNIT


@unit_detector("unit-default-enabled")
def unit_default_enabled(inventory: Inventory) -> Iterator[Finding]:
    """A unit that is enabled by default fails all the time, and nobody misses it.

    Fires on the running system for a unit that a vendor's preset or a package enabled, that keeps failing
    or has failed for good, that no other unit needs, and that serves nobody. In an image, where nothing
    runs, for a unit that is started, by itself or by an enabled timer or socket, and cannot do its job as far
    as files tell (its program is missing, its user does not exist): every machine that boots the image will
    have it; info only, if a condition keeps systemd from starting it. On a running system, an agent that we
    know and that is orphaned is reported as `unit-orphaned-agent` instead.

    It is judged by what it does and not by what it is called; it does not say that the unit has no purpose,
    only that it fulfils none here. A unit that is well is never reported, however little it is needed:
    `necroscope audit` lists them all, and a policy (`others = "report"`) can ask for a reason for each.

    To do: see why it fails (`journalctl -u UNIT`). If nothing needs it, disable it in the image
    (`necroscope fix --root IMAGE disable-unit UNIT`); if it is needed, allow it in the policy of `audit`
    until it works.
    """
    units = {unit.name: unit for unit in inventory.units}
    for unit in inventory.units:
        if inventory.is_live:
            if is_default(unit, units) and _is_useless(unit) and not _is_orphan(unit):
                yield _finding(unit, _how(unit), Severity.WARNING)
        elif unit.obstacles and starters(unit, units):
            how = f"is started in this image and cannot work: {unit.obstacles[0]}"
            yield _finding(unit, how, Severity.INFO if unit.conditions else Severity.WARNING)


def _is_useless(unit: AuditedUnit) -> bool:
    """Whether it keeps failing or has failed, no unit needs it, and it serves nobody."""
    running = unit.running
    fails = running is not None and (running.is_looping or running.active_state == "failed")
    needed = any(not name.endswith(".target") for name in unit.needed_by)
    return fails and not needed and not (running and clients_of(running))


def _is_orphan(unit: AuditedUnit) -> bool:
    return unit.agent is not None and any(need.met is False for need in unit.agent.needs)


def _how(unit: AuditedUnit) -> str:
    running = unit.running
    use = (
        "nothing needs it and it serves nobody"
        if running and running.serves is not None
        else "nothing needs it"
    )
    if running and running.is_looping:
        ends = "keeps failing" if running.is_failing else "ends and is started again all the time"
    else:
        ends = "has failed"
    return f"is enabled by default and {ends}; {use}"


def _finding(unit: AuditedUnit, how: str, severity: Severity) -> Finding:
    if unit.running:
        advice = (
            Advice("see why", journal_command(unit.name)),
            Advice(
                "if nothing needs it, here and in the image it came with",
                fix_command(DISABLE_UNIT, unit.name),
            ),
        )
    else:
        advice = (
            Advice(f"see {unit.file}"),
            Advice("if nothing needs it", fix_command(DISABLE_UNIT, unit.name, ("--root", "IMAGE"))),
        )
    return Finding(
        id="unit-default-enabled",
        severity=severity,
        summary=f"{unit.name} {how}",
        evidence=tuple(unit_evidence(unit)),
        advice=advice,
        subject=unit.name,
        remedy=DISABLE_UNIT,
    )
