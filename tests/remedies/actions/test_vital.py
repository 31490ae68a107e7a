from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from lab.machines.image_roots import plant
from necroscope.remedies.actions.vital import vital_reason, vital_reasons, vital_rules
from necroscope.sources.host import Host

RULES: dict[str, Any] = tomllib.loads(files("necroscope.remedies").joinpath("rules/vital.toml").read_text())


@pytest.mark.parametrize("id", RULES)
def test_a_rule_fits_its_examples_and_no_others(id: str) -> None:
    row, why = RULES[id], RULES[id]["why"]
    assert row["match"] and row["no_match"]
    for example in row["match"]:
        reason = vital_reason((example["unit"],), [example["program"]] if example["program"] else [])
        assert reason.endswith(why), example
    for example in row["no_match"]:
        assert not vital_reason((example["unit"],), [example["program"]] if example["program"] else []), (
            example
        )


def test_there_is_a_rule_for_each_id() -> None:
    assert [rule.id for rule in vital_rules()] == list(RULES)


def test_a_unit_is_vital_by_any_of_its_names_and_by_its_program(tmp_path: Path) -> None:
    usr = "usr/lib/systemd/system"
    plant(
        tmp_path,
        {
            f"{usr}/openssh.service": "[Service]\nExecStart=/opt/door\n",
            f"{usr}/sshd.service": Path("openssh.service"),
            f"{usr}/agent.service": "[Service]\nExecStart=/usr/bin/kubelet\n",
            f"{usr}/plain.service": "[Service]\nExecStart=/bin/true\n",
        },
    )
    found = vital_reasons(
        Host(tmp_path), ["openssh.service", "agent.service", "plain.service", "dbus.socket"]
    )
    assert [line.partition(":")[0] for line in found] == ["openssh.service", "agent.service", "dbus.socket"]
    assert "it runs kubelet" in found[1]
