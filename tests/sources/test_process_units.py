"""Which unit a process is of, whatever others call their control groups."""

from __future__ import annotations

import pytest

from necroscope.sources.process_units import find_top, parse_unit, unit_in_path, unit_of
from tests.sources.conftest import Content, Tree

POD = "kubepods-burstable-pod8a1.slice"
SCOPE = "cri-containerd-0b5c.scope"


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("0::/system.slice/kubelet.service\n", "kubelet.service"),
        ("0::/\n", ""),
        ("12:memory:/system.slice/ssh.service\n1:name=systemd:/system.slice/cron.service\n", "cron.service"),
        ("12:memory:/system.slice/ssh.service\n1:name=systemd:/\n0::/\n", ""),
        ("4:memory:/process_api/bd9e\n1:name=systemd:/\n0::/system.slice/a.service\n", "a.service"),  # hybrid
        (f"0::/kubepods.slice/kubepods-burstable.slice/{POD}/{SCOPE}\n", SCOPE),
        (f"1:name=systemd:/kubepods.slice/{POD}/docker-7f.scope\n", "docker-7f.scope"),
        ("0::/kubepods/burstable/pod8a1/0b5c\n", ""),  # the cgroupfs driver
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.service\n", "user@1000.service"),
        ("0::/machine.slice/vm.scope/payload/system.slice/nginx.service/worker\n", "vm.scope"),
        (
            "0::/user.slice/user-7.slice/user@7.service/x/kubelet.service\n",
            "user@7.service",
        ),  # anybody's name
        ("0::/kubepods/pod8a1/kubelet.service\n", ""),
        ("0::/../system.slice/a.service\n", "a.service"),
        ("0::/system.slice/containerd.service/kubepods:cri-containerd:0b5c\n", "containerd.service"),
        ("0::/init.scope\n", "init.scope"),
    ],
)
def test_units_of_processes(text: str, unit: str) -> None:
    assert parse_unit(text) == unit


@pytest.mark.parametrize(
    "text", ["", "0::/a.service/b.serv", "0::/user@0.service/ap", "rubbish\n", b"\xff\xfe\x00", None]
)
def test_a_bad_cgroup_file_names_no_unit(tree: Tree, text: Content) -> None:
    assert unit_of(tree({"/proc/7/cgroup": text}), 7, "") == ""


@pytest.mark.parametrize(
    ("path", "top", "unit"),
    [
        ("/system.slice/ecs.service", "", "ecs.service"),
        ("/system.slice/ecs.service/payload", "", "ecs.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/dbus.service", "", "user@1000.service"),
        (
            "/machine.slice/systemd-nspawn@a.service/payload/system.slice/ssh.service",
            "",
            "systemd-nspawn@a.service",
        ),
        (
            "/machine.slice/systemd-nspawn@a.service/payload/system.slice/ssh.service",
            "/machine.slice/systemd-nspawn@a.service/payload",
            "ssh.service",
        ),
        ("/system.slice/docker-abc.scope", "", "docker-abc.scope"),
        ("/kubepods/besteffort/pod1/abc", "", ""),
        ("/", "", ""),
        ("/lab-one/a.service", "/lab", ""),
        ("", "", ""),
    ],
)
def test_the_unit_of_a_control_group(path: str, top: str, unit: str) -> None:
    assert unit_in_path(path, top) == unit


def test_the_hierarchies_of_units() -> None:
    text = "9:name=systemd:/a.service\n4:memory:/b.service\n2:cpu,cpuacct:/c.service\n0::/d.service\n"
    assert parse_unit(text) == "a.service"
    assert parse_unit(text.partition("\n")[2]) == "d.service"


@pytest.mark.parametrize(
    ("text", "top"),
    [
        ("0::/init.scope\n", ""),
        ("4:memory:/\n1:name=systemd:/lab/payload/init.scope\n", "/lab/payload"),
        ("0::/../../init.scope\n", "/../.."),
        ("0::/\n", ""),  # no systemd
        (None, ""),
    ],
)
def test_where_systemd_is(tree: Tree, text: Content, top: str) -> None:
    assert find_top(tree({"/proc/1/cgroup": text})) == top
