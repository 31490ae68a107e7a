from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from necroscope.findings.unit_default_enabled import unit_default_enabled
from necroscope.model.finding import Finding, Severity
from necroscope.model.inventory import AuditedUnit, Origin, Served
from tests.inventories import FAILED, LOOPING, RULE, UP, agent, inventory, unit

SERVING = replace(LOOPING, serves=(Served("unix /run/agent.sock", ("kubelet.service",)),))
UNUSED = replace(LOOPING, serves=(Served("unix /run/agent.sock", ()),))


def look(*units: AuditedUnit, is_live: bool = True) -> list[Finding]:
    return list(unit_default_enabled.look(inventory(*units, is_live=is_live)))


@pytest.mark.parametrize("running", [LOOPING, FAILED, UNUSED], ids=["looping", "failed", "serves-nobody"])
def test_an_unknown_unit_is_judged_by_what_it_does(running: Any) -> None:
    (finding,) = look(unit(running=running))
    assert finding.id == "unit-default-enabled"
    assert finding.subject == "agent.service"
    assert finding.remedy == "disable-unit"
    assert "nothing needs it and it serves nobody" in finding.summary
    seen = {fact.name: fact.value for fact in finding.evidence}
    assert seen["enabled"] == f"enabled (preset: {RULE})"
    assert seen["origin"] == "package agent"
    assert seen["serves"] == "nobody"


@pytest.mark.parametrize(
    "changes",
    [
        {"running": UP},
        {"running": SERVING},
        {"running": LOOPING, "needed_by": ("kubelet.service",)},
        {"running": LOOPING, "state": "disabled"},
        {"running": LOOPING, "preset": "disabled"},  # somebody here enabled it against the preset
        {"running": LOOPING, "preset_rule": "", "origin": Origin.LOCAL},  # somebody here made it
        {"running": LOOPING, "agent": agent(False)},  # unit-orphaned-agent says it better
    ],
    ids=["well", "serves", "needed", "disabled", "own-choice", "own-unit", "orphan"],
)
def test_it_stays_quiet(changes: dict[str, Any]) -> None:
    assert not look(unit(**changes))


def test_without_a_rule_the_default_of_systemd_counts_for_what_others_brought() -> None:
    assert look(unit(running=LOOPING, preset_rule="", origin=Origin.IMAGE))
    assert not look(unit(running=LOOPING, preset_rule="", origin=Origin.UNKNOWN))


def test_sockets_that_could_not_be_seen_are_not_said_to_serve_nobody() -> None:
    (finding,) = look(unit(running=replace(LOOPING, serves=None)))
    assert "serves nobody" not in finding.summary
    assert ("serves", "not known") in [(fact.name, fact.value) for fact in finding.evidence]


def test_what_only_ends_is_not_said_to_fail() -> None:
    (finding,) = look(unit(running=replace(LOOPING, is_failing=False)))
    assert "ends and is started again all the time" in finding.summary


def test_a_target_that_requires_it_is_nobody_who_needs_it() -> None:
    assert look(unit(running=LOOPING, needed_by=("multi-user.target",)))


STATIC = {"name": "job.service", "state": "static", "preset": "", "preset_rule": "", "enabled_by": ()}


def test_the_job_of_a_timer_that_is_enabled_by_default_counts() -> None:
    timer = unit(name="job.timer")
    job = unit(**STATIC, running=FAILED, wanted_by=("job.timer",))
    assert [finding.subject for finding in look(job, timer)] == ["job.service"]
    assert not look(job, replace(timer, state="disabled"))
    assert not look(job, replace(timer, preset="disabled"))


BROKEN = ("ExecStart= names /opt/agentd, which is not there",)


@pytest.mark.parametrize("starter", ["multi-user.target", "job.timer"])
def test_in_an_image_what_is_started_without_being_enabled_counts(starter: str) -> None:
    job = unit(**STATIC, obstacles=BROKEN, wanted_by=(starter,))
    timer = unit(name="job.timer")
    assert [finding.subject for finding in look(job, timer, is_live=False)] == ["job.service"]
    assert not look(replace(job, wanted_by=("rescue.target", "other.timer")), timer, is_live=False)


def test_in_an_image_one_that_a_condition_skips_is_worth_knowing_only() -> None:
    (finding,) = look(unit(obstacles=BROKEN, conditions=("ConditionPathExists=/x",)), is_live=False)
    assert finding.severity is Severity.INFO
    (needed,) = look(unit(obstacles=BROKEN, needed_by=("multi-user.target",)), is_live=False)
    assert needed.severity is Severity.WARNING


def test_in_an_image_an_agent_that_cannot_start_is_found_though_it_only_lacks_its_needs() -> None:
    assert look(unit(obstacles=BROKEN, agent=agent(False)), is_live=False)


def test_an_init_script_that_nothing_starts_is_not_enabled() -> None:
    script = unit(state="generated", obstacles=BROKEN, wanted_by=())
    assert not look(script, is_live=False)
    assert look(replace(script, wanted_by=("multi-user.target",)), is_live=False)


def test_in_an_image_an_enabled_unit_that_cannot_work_is_found() -> None:
    broken = unit(obstacles=("ExecStart= names /opt/agentd, which is not there",))
    (finding,) = look(broken, unit(name="well.service"), is_live=False)
    assert finding.subject == "agent.service"
    assert "/opt/agentd" in finding.summary
    assert not look(replace(broken, state="disabled"), is_live=False)
    # By whatever means: every machine that boots the image has it by default.
    assert look(replace(broken, origin=Origin.LOCAL, preset="disabled"), is_live=False)
