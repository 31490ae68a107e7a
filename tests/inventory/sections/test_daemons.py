"""Daemons of the host, and those of somebody else on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.inventory.sections import daemons
from necroscope.model.reading import Absence
from necroscope.sources.host import Host


class Running(Host):
    """A planted tree that says it is live."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "is_live", True)


def plant(root: Path, processes: dict[int, tuple[str, str]]) -> Host:
    for pid, (name, cgroup) in processes.items():
        folder = root / f"proc/{pid}"
        folder.mkdir(parents=True)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "stat").write_text(f"{pid} ({name}) S\n")
        (folder / "cgroup").write_text(cgroup)
    return Running(root)


@pytest.mark.parametrize("base", ["", "/a/lab-1", "/../.."])
def test_only_services_of_the_host_count(tmp_path: Path, base: str) -> None:
    host = plant(
        tmp_path,
        {
            1: ("systemd", f"0::{base}/init.scope\n"),
            7: ("chronyd", f"0::{base}/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n"),
            8: ("ptp4l", f"0::{base}/system.slice/docker-1.scope/system.slice/ptp4l.service\n"),
            9: ("irqbalance", f"0::{base}/system.slice/irqbalance.service\n"),
            10: ("ntpd", f"0::{base}/system.slice/system-ntpd.slice/ntpd@a.service/deeper\n"),
            11: ("bash", f"0::{base}/system.slice/x.service\n"),
        },
    )
    assert daemons.read_daemons(host).value == frozenset({"irqbalance", "ntpd"})


def test_v1_and_no_systemd(tmp_path: Path) -> None:
    v1 = "12:memory:/x\n1:name=systemd:{}\n0::/\n"
    processes = {
        1: ("systemd", v1.format("/init.scope")),
        5: ("chronyd", v1.format("/system.slice/chrony.service")),
        6: ("ntpd", v1.format("/docker/1")),
    }
    assert daemons.read_daemons(plant(tmp_path / "a", processes)).value == frozenset({"chronyd"})
    other = {1: ("runit", "0::/\n"), 5: ("chronyd", "0::/\n")}
    assert daemons.read_daemons(plant(tmp_path / "b", other)).value == frozenset({"chronyd"})


def test_an_image_runs_nothing(tmp_path: Path) -> None:
    assert daemons.read_daemons(Host(tmp_path)).absence is Absence.NOT_SUPPORTED
