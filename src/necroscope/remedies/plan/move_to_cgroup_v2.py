"""Boot with cgroup v2: what it changes about zombies, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.model import remedy_ids as ids
from necroscope.model.plan import ByHand
from necroscope.remedies.actions.counting import memory_hierarchy
from necroscope.remedies.plan.kubernetes_node import drain_commands, node_name, return_commands
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.sources.host import Host

PARAMETER = "systemd.unified_cgroup_hierarchy"
WHY = (
    "on v2, kubelet and cAdvisor do not read memory.numa_stat, which walks all zombies up to Linux 5.7; the"
    " kernel counts zombies by slice (cgroup.stat) and frees those of one slice on demand (memory.reclaim,"
    " since 5.19). It does not stop them: up to Linux 7.0 pages hold a removed cgroup on v2 as on v1"
)
COST = (
    "a reboot, and everything that reads /sys/fs/cgroup has to understand v2: the container runtime, agents,"
    " older Java runtimes"
)


def plan_move_to_cgroup_v2(host: Host, _subject: str) -> Part:
    """Boot the machine with cgroup v2. Advice only.

    Zombies come on v2 as well: what gets cheaper is to count, to attribute and to free them, and kubelet does
    not read the statistics that walk them. The switch is the kernel parameter
    systemd.unified_cgroup_hierarchy=1 and a reboot: no setting of kubelet does it.
    """
    hierarchy = memory_hierarchy(host)
    if hierarchy.version == 2:
        return Part(seen=(f"the memory controller is on cgroup v2 already ({hierarchy.mount})",))
    seen = [f"the memory controller is on cgroup v1 ({hierarchy.mount})"]
    if f"{PARAMETER}=0" in host.word("/proc/cmdline").split():
        seen.append(f"{PARAMETER}=0 is on the kernel command line and keeps it there: it has to go")
    return Part(
        by_hand=(ByHand(tuple(_commands(host)), WHY, COST),),
        warnings=tuple(_kubelet_notes(host)),
        seen=tuple(seen),
    )


def _commands(host: Host) -> Iterator[str]:
    node = node_name(host)
    if host.path("/usr/sbin/grubby").exists():
        yield f"grubby --update-kernel=ALL --remove-args={PARAMETER} --args={PARAMETER}=1"
    elif host.path("/etc/default/grub").exists():
        yield f"# add {PARAMETER}=1 to GRUB_CMDLINE_LINUX in /etc/default/grub"
        yield "update-grub"
    else:
        yield f"# add {PARAMETER}=1 to the kernel command line, as this machine's boot loader is configured"
    if node:
        yield from drain_commands(node)
    yield "systemctl reboot"
    yield "stat -fc %T /sys/fs/cgroup  # cgroup2fs: it is v2; tmpfs: v1 or hybrid"
    if node:
        yield from return_commands(node)


def _kubelet_notes(host: Host) -> Iterator[str]:
    if node_name(host):
        yield (
            "kubelet finds out by itself: it has no setting `cgroupVersion` and no feature gate CgroupV2."
            " cgroupDriver: systemd has to be set in kubelet and in the container runtime alike"
        )


MOVE_TO_CGROUP_V2 = Remedy(ids.MOVE_TO_CGROUP_V2, plan_move_to_cgroup_v2)
