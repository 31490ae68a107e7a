"""An audit as a person reads it: what is wrong, then every enabled unit in a row, what was not checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from necroscope.cli.finding_text import finding_lines, not_checked_lines
from necroscope.cli.screen import Screen
from necroscope.findings.unit_evidence import clients_of, is_enabled
from necroscope.model.amounts import bytes_text
from necroscope.model.inventory import AuditedUnit, Inventory, Origin, Running
from necroscope.model.judgement import Judgement
from necroscope.model.shell_command import necroscope_command


def verdict(inventory: Inventory, judgement: Judgement) -> str:
    """One sentence: how many units are wrong, of how many."""
    wrong = len({finding.subject for finding in judgement.findings})
    enabled = sum(map(is_enabled, inventory.units))
    allowed = f", {len(judgement.allowed)} allowed by the policy" if judgement.allowed else ""
    where = "" if inventory.is_live else " (files only, nothing runs)"
    if not wrong:
        return f"nothing found in {enabled} enabled units{where}{allowed}"
    return f"{wrong} unit{'s' if wrong > 1 else ''} to look at, {enabled} are enabled{where}{allowed}"


def audit_lines(
    screen: Screen, inventory: Inventory, judgement: Judgement, *, everything: bool
) -> Iterator[str]:
    """The whole report."""
    worst = judgement.findings[0].severity.value if judgement.findings else "good"
    yield screen.paint(screen.wrap(verdict(inventory, judgement)), worst)
    for finding in judgement.findings:
        yield ""
        yield from finding_lines(screen, finding)
    if judgement.findings:
        yield ""
        more = necroscope_command("explain", dict.fromkeys(one.id for one in judgement.findings))
        yield screen.wrap(f"More: {more}", hanging=6)
    yield from _allowed(screen, judgement)
    yield ""
    shown = [unit for unit in inventory.units if everything or is_enabled(unit) or _is_up(unit.running)]
    yield screen.paint("Units" if everything else "Units that are enabled or run", "bold")
    yield from _unit_lines(screen, shown)
    yield from not_checked_lines(screen, judgement.not_checked)


def _is_up(running: Running | None) -> bool:
    return running is not None and running.active_state != "inactive"


def _allowed(screen: Screen, judgement: Judgement) -> Iterator[str]:
    if judgement.allowed:
        yield ""
        yield screen.paint("Allowed by the policy", "bold")
        yield screen.table(
            (one.finding.subject, f"{one.finding.id}: {one.reason}") for one in judgement.allowed
        )
    for line in judgement.unused:
        yield screen.wrap(f"policy: {line}", 2, 4)


def _unit_lines(screen: Screen, units: Iterable[AuditedUnit]) -> Iterator[str]:
    services = [unit for unit in units if unit.name.endswith((".service", ".socket", ".timer", ".path"))]
    yield screen.table((unit.name, ", ".join(_words(unit))) for unit in services)


def _words(unit: AuditedUnit) -> Iterator[str]:
    """What is worth a word about a unit, most telling first; what is as expected is left out."""
    running = unit.running
    if running:
        yield from _doing(running)
    yield unit.state or "no unit file"
    if unit.origin is not Origin.GENERATED:  # said already
        yield unit.package or unit.origin.value
    if unit.preset and unit.state in ("enabled", "disabled") and unit.state != unit.preset:
        yield f"the preset says {unit.preset}"
    if unit.drop_ins:
        yield f"{len(unit.drop_ins)} drop-in{'s' if len(unit.drop_ins) > 1 else ''}"
    if unit.needed_by:
        yield f"needed by {_some(unit.needed_by)}"
    if unit.agent:
        lacking = [need.what for need in unit.agent.needs if need.met is False]
        yield f"{unit.agent.id}{' without ' + ' and '.join(lacking) if lacking else ''}"
    yield from (*unit.obstacles, *unit.conditions)


def _doing(running: Running) -> Iterator[str]:
    loop = "crash-looping" if running.is_failing else "restarted again and again"
    yield loop if running.is_looping else f"{running.active_state} ({running.sub_state})"
    if running.condition:
        yield f"not started: {running.condition}"
    if running.restarts:
        yield f"{running.restarts:,} restart{'s' if running.restarts > 1 else ''}"
    if running.cpu_ratio and running.cpu_ratio >= 0.001:
        yield f"{running.cpu_ratio:.1%} of a core"
    if running.memory_bytes:
        yield bytes_text(running.memory_bytes)
    if running.cgroups_made:
        leaked = f", {running.cgroups_leaked:,} leaked" if running.cgroups_leaked else ""
        yield f"made {running.cgroups_made:,} memory cgroups{leaked}"
    if clients := clients_of(running):
        yield f"serves {_some(clients)}"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
