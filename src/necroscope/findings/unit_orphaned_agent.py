"""Agents that have nobody to work for."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.connections import is_peer
from necroscope.findings.detector import unit_detector
from necroscope.findings.unit_evidence import for_image, is_enabled, unit_evidence
from necroscope.model.advice import Advice
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.inventory import Agent, AuditedUnit, Inventory, Need, Running
from necroscope.model.remedy_ids import DISABLE_UNIT


@unit_detector("unit-orphaned-agent")
def unit_orphaned_agent(inventory: Inventory) -> Iterator[Finding]:
    """An agent is enabled on a machine that lacks what it needs to be of use, one finding for each.

    Fires when a unit is recognised as an agent that we know (by its program or package, see docs/agents.md),
    it is enabled or runs, something that it cannot do without is not there (a configuration, credentials,
    the socket of its peer, its hardware), and it is not seen to work all the same: one that is up, does not
    restart and has a TCP connection to a peer is left alone. Info only, if it does not run, a condition
    keeps systemd from starting it, or it is of a kind that then does nothing rather than fail.

    The name of an agent says nothing: the same agent on a host that is set up for it is not reported. What
    could not be told (a need that only the running system shows, in an image) counts as there.

    To do: if the machine is not meant for it, disable it here and in the image (`necroscope fix
    disable-unit UNIT`, with `--root IMAGE`). If it is, give it what it needs. In an image whose agent is set
    up at its first boot, allow the unit in the policy of `audit`.
    """
    for unit in inventory.units:
        if unit.agent is None or not (is_enabled(unit) or _is_up(unit.running)):
            continue
        missing = [need for need in unit.agent.needs if need.met is False]
        if missing and not _works(unit.running):
            yield _finding(inventory, unit, unit.agent, missing)


def _is_up(running: Running | None) -> bool:
    return running is not None and (running.active_state == "active" or running.is_looping)


def _works(running: Running | None) -> bool:
    if running is None or not _is_up(running) or running.is_looping:
        return False
    return any(map(is_peer, running.calls or ()))


def _severity(inventory: Inventory, unit: AuditedUnit, agent: Agent) -> Severity:
    running = unit.running
    if not inventory.is_live:  # every machine that boots the image will have it
        return Severity.INFO if agent.idles or unit.conditions else Severity.WARNING
    if running is None or running.condition or running.active_state == "inactive":
        return Severity.INFO
    is_harmless = agent.idles and running.active_state == "active" and not running.is_looping
    return Severity.INFO if is_harmless else Severity.WARNING


def _finding(inventory: Inventory, unit: AuditedUnit, agent: Agent, missing: list[Need]) -> Finding:
    evidence = [Evidence("agent", agent.what, "", agent.recognised_by)]
    evidence += [Evidence(f"needs {need.what}", _word(need.met), "", need.seen) for need in agent.needs]
    lacking = "; ".join(need.what for need in missing)
    where = "here" if inventory.is_live else "in this image"
    state = "crash-loops" if unit.running and unit.running.is_looping else f"is {unit.state}"
    return Finding(
        id="unit-orphaned-agent",
        severity=_severity(inventory, unit, agent),
        summary=f"{unit.name} {state} and is of no use {where}, for want of {lacking}",
        evidence=(*evidence, *unit_evidence(unit)),
        advice=(
            Advice(f"without what it needs: {agent.fails}"),
            *map(Advice, agent.removal if inventory.is_live else map(for_image, agent.removal)),
        ),
        subject=unit.name,
        remedy=DISABLE_UNIT,
    )


def _word(met: bool | None) -> str:
    return {True: "there", False: "missing", None: "cannot be told"}[met]
