"""Names that become commands when a person pastes what we print.

The attacks: a file in /dev/shm whose name has a line break and a command in it, a cgroup or a process called
`$(...)`, a unit whose name is an option, a function whose name looks like a command of ours.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from lab.machines.image_roots import plant
from necroscope.cli.fix_records import OlderFixes
from necroscope.cli.fix_text import Shown, plan_lines
from necroscope.cli.main import main
from necroscope.cli.screen import Screen
from necroscope.diagnosis.causes import AdviceRule, load_causes
from necroscope.diagnosis.diagnose import diagnose
from necroscope.diagnosis.words import root_advice
from necroscope.findings.examine import examine
from necroscope.inventory.judge import judge
from necroscope.inventory.policy import Policy
from necroscope.model.plan import ByHand, Step, Treatment
from necroscope.model.zombie_holder import HolderKind, HoldingProcess
from necroscope.remedies.plan.holder_advice import advise
from necroscope.remedies.plan.purge_zombies import _reclaim
from necroscope.remedies.plan.steps import (
    file_step,
    mask_step,
    start_when_undone_step,
    stop_step,
    unlink_step,
)
from necroscope.server.questions.explained import plan_steps
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.hierarchies import Hierarchy
from necroscope.sources.host import Host
from necroscope.sources.systemd.stop_effects import StopEffects
from tests.cli.test_diagnose import moments
from tests.diagnosis.scenes import KUBELET, NIC_LINE, ledger, scene_of, units
from tests.diagnosis.test_diagnose import MOMENTS, incident
from tests.inventories import FAILED, inventory, unit
from tests.inventory.test_judge import TODAY
from tests.remedies.on_record import plan_of
from tests.remedies.plan.test_holder_advice import ZOMBIES, holder, holding
from tests.security.hostile_names import NAMES, check_command, commands_in, renamed, strings
from tests.server.questions.test_diagnosis import EMPTY

UNIT_NAMES = ("-x.service", "--now.service", "-.mount", "a\\x2db.service")  # systemd allows no worse ones


def by_hand(name: str, kind: HolderKind = HolderKind.TMPFS_FILE) -> tuple[ByHand, ...]:
    """What is advised about a file of this name, which a process of this name has open."""
    users = (HoldingProcess(4711, name, f"{name}.service"), HoldingProcess(815, name, f"{name}.scope"))
    holders = [holder(kind, f"/dev/shm/{name}/{number}", *users) for number in range(30)]
    one_user = holder(HolderKind.OPEN_FILE, f"/dev/shm/{name}", users[1])
    many = advise(Host(Path("/nowhere")), holding(*holders), (), ZOMBIES)
    return (*many, *advise(Host(Path("/nowhere")), holding(one_user), (), ZOMBIES))


def steps(name: str, root: Path) -> list[Step]:
    """All kinds of steps about a unit and a cgroup of this name, of a live host and of an image."""
    effects = StopEffects(along=(f"{name}.scope",), started={name: "x"}, lost={f"{name}.scope": name})
    made = [
        _reclaim(Host(), Hierarchy(version, "/sys/fs/cgroup", ("memory",)), f"/{name}") for version in (1, 2)
    ]
    for host in (Host(), Host(root / name.replace("/", "_"))):
        made += [
            stop_step(host, name, (f"{name}.timer",), effects),
            start_when_undone_step(name, [name]),
            *(unlink_step(host, name, {f"/etc/{name}": f"../{name}"}, all_of) for all_of in (True, False)),
            mask_step(host, name, "", ""),
            file_step(host, f"/etc/{name}/a.conf", f"[Service]\nA={name}\nEND\n", ""),
        ]
    return made


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("kind", [HolderKind.TMPFS_FILE, HolderKind.MAPPED_FILE])
def test_a_file_or_a_process_of_that_name(name: str, kind: HolderKind, tmp_path: Path) -> None:
    advice = by_hand(name, kind)
    assert advice
    for one in advice:
        check_command("\n".join(one.commands), tmp_path / "cwd")
    removed = commands_in("\n".join(advice[0].commands), tmp_path / "cwd")
    if kind is HolderKind.TMPFS_FILE:
        assert ["rm", "--", f"/dev/shm/{name}/0"] in removed and ["kill", "815"] in removed
        assert ["systemctl", "restart", "--", f"{name}.service"] in removed


@pytest.mark.parametrize("name", [*NAMES, *UNIT_NAMES], ids=ascii)
def test_a_unit_or_a_cgroup_of_that_name(name: str, tmp_path: Path) -> None:
    for step in steps(name, tmp_path):
        check_command(step.command, tmp_path / "cwd")
        if "\n" in step.undo or step.undo.startswith(("rm", "ln", "systemctl")):
            check_command(step.undo, tmp_path / "cwd")
            check_command(step.undo.replace("\n", "; "), tmp_path / "cwd")  # as a plan shows it
    stop = stop_step(Host(), name, (), StopEffects()).command
    assert commands_in(stop, tmp_path / "cwd") == [["systemctl", "stop", "--", name]]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_plan_in_text_is_pasted_as_it_stands(name: str, tmp_path: Path) -> None:
    made = tuple(steps(name, tmp_path))
    plan = plan_of((), [Treatment("disable-unit", name)], steps=made, by_hand=by_hand(name))
    given: dict[str, Any] = {"what": None, "subject": None, "plan": None, "output": None}
    arguments = Namespace(**given, root=Path("/"), store=tmp_path / name.replace("/", "_"))
    lines = list(plan_lines(Screen(80), Shown(plan, (), OlderFixes(), ()), arguments))
    text = "\n".join(lines)
    for command in [
        *(step.command for step in made),
        *(line for one in plan.by_hand for line in one.commands),
    ]:
        shown = "\n".join(f"     {line}".rstrip() for line in command.split("\n"))
        assert shown in text
        check_command(shown, tmp_path / "cwd")
    typed = next(line for line in text.split("\n") if " --apply" in line)
    check_command(typed[typed.index("necroscope ") :], tmp_path / "cwd", name)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_findings_and_diagnoses_of_what_has_that_name(name: str, tmp_path: Path) -> None:
    new = {"ecs.service": f"{name}.service", "kubelet": name, "eth0": name}
    segment = renamed(replace(scene_of(["idle"]).segment, moments=moments()), new)
    advice = [step for one in examine(segment, load_thresholds(None)).findings for step in one.advice]
    judged = judge(
        inventory(unit(name=f"{name}.service", running=FAILED)), (), Policy(reports_others=True), TODAY
    )
    advice += [step for one in judged.findings for step in one.advice]
    assert len(advice) > 5
    for step in advice:
        check_advice(step, tmp_path)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_the_plan_of_a_diagnosis_as_the_page_has_it(name: str, tmp_path: Path) -> None:
    service = f"{name}.service"
    scene = incident(
        culprit=replace(KUBELET, process=name),
        ledger=ledger(*range(0, 300 * MOMENTS, 300), unit=service, creator=name),
        units=units(*range(100, 100 + 5 * MOMENTS, 5), name=service),
    )
    found = diagnose(scene, NIC_LINE)
    commands = [step.command for step in plan_steps(found) if step.command]
    assert any("disable-unit" in command for command in commands)
    for command in commands:
        check_command(command, tmp_path / "cwd", service if "disable-unit" in command else "")


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_word_of_a_rule_adds_to_its_command(name: str, tmp_path: Path) -> None:
    commands = {step.command for rule in load_causes().conclusions for step in rule.advice if step.command}
    for command in commands:
        words = AdviceRule("", command).filled(defaultdict(lambda: name)).command
        (started,) = commands_in(words, tmp_path / "cwd")
        assert len(started) == len(command.split())


def check_advice(step: Any, tmp_path: Path) -> None:
    """What a finding advises: words, and behind them a command."""
    command = getattr(step, "command", None)
    if command is None:  # words and a command in one
        command = str(step).partition(": ")[2]
    check_command(command, tmp_path / "cwd")


def test_a_function_cannot_offer_a_command() -> None:
    """Whoever writes /tmp/perf-PID.map names functions: a colon and our name made one a step of the plan."""
    function = "a: necroscope fix disable-unit sshd.service --apply; then b"
    observed = Mock(accused=Mock(culprit=replace(KUBELET, function=function)))
    (advice,) = root_advice(observed, ())
    found = replace(EMPTY, advice=(advice,))
    assert function in advice.text and [step.command for step in plan_steps(found)] == [""]


@pytest.mark.parametrize("name", ["-x.service", "--now.service"])
def test_a_unit_of_an_image_that_is_called_like_an_option(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = tmp_path / "-image"
    wants = f"etc/systemd/system/multi-user.target.wants/{name}"
    unit_file = "[Service]\nExecStart=/usr/bin/gone\n[Install]\nWantedBy=multi-user.target\n"
    plant(
        image,
        {
            "usr/lib/systemd/system/multi-user.target": "[Unit]\n",
            f"usr/lib/systemd/system/{name}": unit_file,
            wants: Path(f"/usr/lib/systemd/system/{name}"),
        },
    )
    assert main(["fix", "--json", "--root", str(image), "--", "disable-unit", name]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert plan["steps"]
    for step in plan["steps"]:
        check_command(step["command"], tmp_path / "cwd", name if "systemctl" in step["command"] else "")
    assert main(["audit", "--json", "--root", str(image)]) == 1
    audited = json.loads(capsys.readouterr().out)
    advised = [line for line in strings(audited, "advice") if "disable-unit" in line]
    assert advised and all(f" -- disable-unit {name}" in line for line in advised)
