"""What a scenario may need of a machine, one id each, and what to do where it is not there.

needs = ["root", "perf", "memory-cgroup-v1"]    in a scenario.toml
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.faults import (
    kernel_lines,
    leaking_units,
    nic_stalls,
    short_memory,
    wall_clock,
    zombie_trials,
    zombies,
)
from lab.machines import kernels, nspawn, qemu

VETH_TOOLS = ("ip", "ethtool", "unshare")
TRY_PERF = ("perf", "record", "-q", "-o", "-", "-e", "cpu-clock", "-a", "--", "true")
LONGEST_REASON = 200
ROOT = "root"


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a machine has or has not."""

    what: str
    why_not: Callable[[], str | None]
    to_do: str


@dataclass(frozen=True, slots=True)
class Lack:
    """A need that is not met here."""

    need: str
    why: str
    to_do: str

    def __str__(self) -> str:
        return f"{self.need}: {self.why} ({self.to_do})"


def lacks(needs: Iterable[str]) -> tuple[Lack, ...]:
    """All that is missing of what a scenario needs; without root most of the others cannot be told."""
    wanted = tuple(needs)
    if ROOT in wanted and (why := NEEDS[ROOT].why_not()):
        return (Lack(ROOT, f"{why}; what else is missing shows with root", NEEDS[ROOT].to_do),)
    found = ((id, NEEDS[id].why_not()) for id in wanted)
    return tuple(Lack(id, why, NEEDS[id].to_do) for id, why in found if why)


def _why_not_root() -> str | None:
    return None if os.geteuid() == 0 else "not root"


def _why_not_two_cores() -> str | None:
    count = len(os.sched_getaffinity(0))
    return None if count >= 2 else f"{count} core"


@cache
def _why_not_perf() -> str | None:
    if missing := _why_not_tools(("perf", "setpriv")):
        return missing
    # perf of another kernel, or in a container, is there and cannot sample.
    tried = subprocess.run(
        TRY_PERF, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    said = " ".join(tried.stderr.split())
    return f"perf cannot sample all cores: {said[:LONGEST_REASON]}" if tried.returncode else None


def _why_not_disk() -> str | None:
    command = ["stat", "-f", "-c", "%T", str(leaking_units.DISK)]
    kind = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return f"{leaking_units.DISK} is on no disk ({kind})" if kind in leaking_units.NO_DISKS else None


def _why_not_ray() -> str | None:
    if importlib.util.find_spec("ray") is None:
        return "Ray is not installed"
    return "Ray cannot run from a folder with a space in its name" if " " in sys.prefix else None


@cache
def _why_not_veth() -> str | None:
    if missing := _why_not_tools(VETH_TOOLS):
        return missing
    command = ["unshare", "--net", "ip", "link", "add", "lab-try", "type", "veth", "peer", "name", "lab-peer"]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"no veth pair can be made: {tried.stderr.strip()}" if tried.returncode else None


def _why_not_kernels() -> str | None:
    if reason := qemu.why_not():
        return reason
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "necroscope/kernels"
    absent = [series for series in kernels.DEBIAN_RELEASES if not (cache / series).exists()]
    if not absent:
        return None
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Origin: Debian"]
    mirrors = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return None if mirrors else f"apt knows no Debian mirror to fetch Linux {', '.join(absent)} from"


def _why_not_tools(tools: Iterable[str]) -> str | None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return f"{', '.join(missing)} missing" if missing else None


NEEDS = {
    ROOT: Need("root", _why_not_root, "sudo -E make lab SCENARIO=..."),
    "two-cores": Need("two cores that we may run on", _why_not_two_cores, "give the machine another core"),
    "perf": Need("perf, and setpriv to end it", _why_not_perf, "apt-get install linux-perf util-linux"),
    "memory-cgroup-v1": Need(
        "the memory controller of cgroup v1",
        zombies.why_not,
        "boot with systemd.unified_cgroup_hierarchy=0, on a kernel that still has it",
    ),
    "zombies": Need(
        "a kernel that keeps removed memory cgroups",
        zombie_trials.why_not,
        "boot an older kernel: on this one the fault cannot happen",
    ),
    "nspawn": Need(
        "systemd-nspawn, overlayfs and writable cgroups",
        nspawn.why_not,
        "apt-get install systemd-container dbus util-linux",
    ),
    "kernel-log": Need("a writable /dev/kmsg", kernel_lines.why_not, "run as root, outside of containers"),
    "nic-queue": Need(
        "a NIC queue whose interrupt's core is known", nic_stalls.why_not, "give the machine a NIC with MSI-X"
    ),
    "disk": Need("a disk behind /var/tmp", _why_not_disk, "mount one there"),
    "ray": Need("Ray", _why_not_ray, "make .venv/packages-lab"),
    "veth": Need(
        "ip, ethtool, network namespaces and veth pairs",
        _why_not_veth,
        "apt-get install iproute2 ethtool util-linux",
    ),
    "qemu": Need(
        "QEMU, and what its guests boot from",
        qemu.why_not,
        "apt-get install qemu-system-x86 busybox-static cpio kmod",
    ),
    "kernels": Need("Debian's kernels, fetched or to be fetched", _why_not_kernels, "apt-get update"),
    "short-memory": Need(
        "memory that can be taken as huge pages", short_memory.why_not, "play it in a small virtual machine"
    ),
    "clock": Need("a wall clock that may be set", wall_clock.why_not, "run as root where no NTP keeps it"),
}
