from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import CannotLookError
from necroscope.remedies.plan.move_to_cgroup_v2 import plan_move_to_cgroup_v2
from necroscope.sources.host import Host
from tests.sources.test_zombie_pins import V1, V2, build

MEMORY = {"sys/fs/cgroup/memory/memory.stat": "", "sys/fs/cgroup/cgroup.controllers": "memory\n"}
KUBELET = {"proc/9/comm": "kubelet\n", "proc/9/cmdline": "kubelet\0", "proc/sys/kernel/hostname": "node\n"}


def test_the_exact_parameter_and_how_to_see_that_it_worked(tmp_path: Path) -> None:
    host = build(tmp_path, V1, {**MEMORY, "etc/default/grub": ""})
    part = plan_move_to_cgroup_v2(host, "")
    assert not part.steps and not part.warnings
    (advice,) = part.by_hand
    assert "systemd.unified_cgroup_hierarchy=1" in advice.commands[0]
    assert advice.commands[1:3] == ("update-grub", "systemctl reboot")
    assert "cgroup2fs" in advice.commands[-1]
    assert "does not stop them" in advice.why


def test_a_node_is_drained_and_kubelet_has_no_such_setting(tmp_path: Path) -> None:
    part = plan_move_to_cgroup_v2(build(tmp_path, V1, {**MEMORY, **KUBELET}), "")
    assert any(
        line.startswith("kubectl drain ") and line.endswith(" -- node") for line in part.by_hand[0].commands
    )
    assert "cgroupVersion" in part.warnings[0]


def test_what_keeps_it_on_v1_is_named(tmp_path: Path) -> None:
    cmdline = {"proc/cmdline": "quiet systemd.unified_cgroup_hierarchy=0\n", "usr/sbin/grubby": ""}
    part = plan_move_to_cgroup_v2(build(tmp_path, V1, {**MEMORY, **cmdline}), "")
    assert any("has to go" in line for line in part.seen)
    assert part.by_hand[0].commands[0].startswith("grubby ")


def test_on_v2_there_is_nothing_to_do(tmp_path: Path) -> None:
    part = plan_move_to_cgroup_v2(build(tmp_path, V2, MEMORY), "")
    assert not part.by_hand and "already" in part.seen[0]


def test_without_cgroups_it_cannot_tell(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError):
        plan_move_to_cgroup_v2(Host(tmp_path), "")
