from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.faults.zombies import why_not
from necroscope.remedies.plan.kubernetes_node import node_name
from necroscope.remedies.plan.reboot import plan_reboot
from necroscope.sources.host import Host


def machine(root: Path, kubelet: str = "", **files: str) -> Host:
    """A machine with that hostname, and a kubelet with those arguments if there are any."""
    every = {"proc/sys/kernel/hostname": "Node-17\n", "proc/1/comm": "systemd\n", **files}
    if kubelet:
        every |= {"proc/99/comm": "kubelet\n", "proc/99/cmdline": kubelet}
    for name, text in every.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Host(root)


def test_a_reboot_is_advised_and_never_a_step(tmp_path: Path) -> None:
    part = plan_reboot(machine(tmp_path), "")
    assert not part.steps
    (advice,) = part.by_hand
    assert advice.commands == ("systemctl reboot",)
    assert "not known" in advice.why, "nothing is counted in a recorded tree"


@pytest.mark.parametrize("name", ["x; curl evil | sh #", "$(reboot)", "a b", "-rf", ""])
def test_what_can_be_no_name_of_a_node_is_in_no_command(tmp_path: Path, name: str) -> None:
    host = machine(tmp_path, f"kubelet\0--hostname-override={name}\0")
    assert node_name(host) == "node-17"
    odd = machine(tmp_path / "odd", "kubelet\0", **{"proc/sys/kernel/hostname": f"{name}\n"})
    assert node_name(odd) == ""
    assert [advice.commands for advice in plan_reboot(odd, "").by_hand] == [("systemctl reboot",)]


def test_a_node_is_drained_before_and_comes_back_after(tmp_path: Path) -> None:
    host = machine(tmp_path, "kubelet\0--config\0/etc/x\0")
    advice, reserve = plan_reboot(host, "").by_hand
    words = [line.split("  #")[0] for line in advice.commands]
    assert words == [
        "kubectl get node -- node-17",
        "kubectl drain --ignore-daemonsets --delete-emptydir-data -- node-17",
        "systemctl reboot",
        "kubectl uncordon -- node-17",
    ]
    assert "pods" in advice.cost
    assert reserve.commands[1:] == (
        "kubectl taint node -- node-17 necroscope.dev/repro=:NoSchedule",
        "kubectl label node -- node-17 necroscope.dev/pool=repro",
        "kubectl taint node -- node-17 necroscope.dev/repro-  # to give it back",
        "kubectl label node -- node-17 necroscope.dev/pool-",
    )


def test_in_a_pod_the_node_is_called_as_the_cluster_calls_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NODE_NAME", "ip-10-0-0-7.ec2.internal")
    advice, _ = plan_reboot(Host(), "").by_hand
    assert advice.commands[0].startswith("kubectl drain "), "no need to ask"
    assert advice.commands[0].endswith(" -- ip-10-0-0-7.ec2.internal")
    assert node_name(machine(tmp_path)) == "", "a tree on disk is another machine"


def test_the_name_of_a_node_is_kubelets_own(tmp_path: Path) -> None:
    assert node_name(machine(tmp_path / "none")) == ""
    assert node_name(machine(tmp_path / "two", "kubelet\0--hostname-override\0ip-10-0-0-1.internal\0")) == (
        "ip-10-0-0-1.internal"
    )
    assert node_name(machine(tmp_path / "one", "kubelet\0--hostname-override=web-1\0")) == "web-1"
    stopped = machine(tmp_path / "stopped", **{"etc/kubernetes/kubelet.conf": ""})
    assert node_name(stopped) == "node-17"


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_how_long_it_lasts_is_told_on_a_running_machine() -> None:
    (advice,) = plan_reboot(Host(), "").by_hand
    assert re.search(r"[\d,]+ came within [\d.]+ (s|min|h|days|years) since the last boot", advice.why)
