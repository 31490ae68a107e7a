from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from necroscope.findings.unit_orphaned_agent import unit_orphaned_agent
from necroscope.model.finding import Finding, Severity
from necroscope.model.inventory import AuditedUnit
from tests.inventories import FAILED, LOOPING, STOPPED, UP, agent, inventory, unit

LACKING = agent(True, False, None)
CONNECTED = replace(UP, calls=("tcp 10.0.0.5:443",))


def look(*units: AuditedUnit, is_live: bool = True) -> list[Finding]:
    return list(unit_orphaned_agent.look(inventory(*units, is_live=is_live)))


def test_a_looping_agent_without_what_it_needs_is_orphaned() -> None:
    (finding,) = look(unit(agent=LACKING, running=LOOPING))
    assert finding.id == "unit-orphaned-agent"
    assert finding.subject == "agent.service"
    assert finding.remedy == "disable-unit"
    assert finding.severity is Severity.WARNING
    assert finding.summary == "agent.service crash-loops and is of no use here, for want of a thing 2"
    seen = {fact.name: (fact.value, fact.source) for fact in finding.evidence}
    assert seen["needs a thing 1"] == ("there", "/etc/agent/1")
    assert seen["needs a thing 2"] == ("missing", "/etc/agent/2")
    assert seen["needs a thing 3"] == ("cannot be told", "/etc/agent/3")
    assert [*map(str, finding.advice)] == ["without what it needs: it exits with 1", "stop it"]


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": agent(True, True), "running": LOOPING},  # set up: another detector's business
        {"agent": agent(True, None), "running": LOOPING},  # cannot be told is not missing
        {"agent": LACKING, "running": CONNECTED},  # it works all the same
        {"agent": LACKING, "state": "disabled", "running": STOPPED},
        {"agent": replace(LACKING, idles=True), "running": CONNECTED},
        {"agent": LACKING, "state": "masked", "running": None},
        {"agent": None, "running": LOOPING},
    ],
    ids=["set-up", "unknown-needs", "works", "disabled", "idles-and-works", "masked", "unknown-unit"],
)
def test_it_stays_quiet(changes: dict[str, Any]) -> None:
    assert not look(unit(**changes))


@pytest.mark.parametrize(
    ("running", "severity"),
    [
        (UP, Severity.WARNING),
        (FAILED, Severity.WARNING),
        (STOPPED, Severity.INFO),
        (replace(STOPPED, condition="ConditionPathExists=/etc/agent"), Severity.INFO),
    ],
)
def test_how_bad_it_is_depends_on_what_it_does(running: Any, severity: Severity) -> None:
    (finding,) = look(unit(agent=LACKING, running=running))
    assert finding.severity is severity


IDLE = replace(LACKING, idles=True)


@pytest.mark.parametrize(
    ("running", "severity"), [(UP, Severity.INFO), (FAILED, Severity.WARNING), (LOOPING, Severity.WARNING)]
)
def test_one_that_only_idles_without_its_needs_is_worth_knowing(running: Any, severity: Severity) -> None:
    (finding,) = look(unit(agent=IDLE, running=running))
    assert finding.severity is severity
    (in_image,) = look(unit(agent=IDLE), is_live=False)
    assert in_image.severity is Severity.INFO


@pytest.mark.parametrize(
    "call", ["unix /run/docker.sock (docker.service)", "tcp 169.254.169.254:80", "tcp 10.0.0.2:53"]
)
def test_a_connection_to_nobody_it_works_for_does_not_excuse_it(call: str) -> None:
    assert look(unit(agent=LACKING, running=replace(UP, calls=(call,))))


def test_one_that_is_not_loaded_on_a_running_machine_is_worth_knowing() -> None:
    (finding,) = look(unit(agent=LACKING, running=None))
    assert finding.severity is Severity.INFO


def test_advice_for_an_image_does_not_act_on_the_machine_that_builds_it() -> None:
    removal = ("systemctl disable --now agent.service", "systemctl mask agent.service")
    (finding,) = look(unit(agent=replace(LACKING, removal=removal)), is_live=False)
    assert [*map(str, finding.advice[1:])] == [
        "systemctl --root=IMAGE disable agent.service",
        "systemctl --root=IMAGE mask agent.service",
    ]


def test_one_that_runs_without_being_enabled_counts() -> None:
    assert look(unit(agent=LACKING, state="disabled", running=LOOPING))


def test_in_an_image_the_files_decide() -> None:
    (finding,) = look(unit(agent=LACKING), is_live=False)
    assert finding.severity is Severity.WARNING
    assert finding.summary.endswith("is enabled and is of no use in this image, for want of a thing 2")
    assert not look(unit(agent=LACKING, state="disabled"), is_live=False)


def test_each_agent_has_its_own_finding() -> None:
    units = [unit(name=f"agent{n}.service", agent=agent(False, False), running=LOOPING) for n in range(3)]
    findings = look(*units)
    assert [finding.subject for finding in findings] == ["agent0.service", "agent1.service", "agent2.service"]
    assert "for want of a thing 1; a thing 2" in findings[0].summary
