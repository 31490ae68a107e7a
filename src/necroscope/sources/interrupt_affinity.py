"""On which cores an interrupt may fire, on which it does, and whether anybody may change that.

Reads    /proc/irq/N, /sys/devices/system/cpu, /sys/devices/system/node, /sys/class/net/DEVICE/queues
Needs    nothing
Costs    some small reads per interrupt: 0.2 ms

smp_affinity_list is what is allowed, effective_affinity_list (Linux 4.15) is where it fires. After a change
the second follows with the next interrupt, so that on an idle queue it lags behind.

A *managed* interrupt is placed by the kernel alone. A write to its smp_affinity fails with EIO, or with EPERM
on newer kernels, where the file is also shown without permission to write (seen on Linux 6.18). On the older
ones nothing in /proc tells it before. Disks have such interrupts, and few network drivers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, only_line, parse_core_list
from necroscope.sources.nic_queues import effective_cores, hardware_devices, parse_core_mask

CORES = "/sys/devices/system/cpu"
# Cores that somebody keeps free of exactly this: isolcpus= and nohz_full= of the kernel's command line.
KEPT_FREE = ("isolated", "nohz_full")


@dataclass(frozen=True, slots=True)
class InterruptAffinity:
    """One interrupt's cores."""

    irq: int
    allowed: tuple[int, ...]
    effective: tuple[int, ...]  # the same as allowed where the kernel does not tell
    node: int | None  # the NUMA node of its device; None: there is none, or it is not known
    is_writable: bool  # False: a managed one

    def fires_on(self, core: int) -> bool:
        """Whether it fires on a core, and was not sent away since it fired there last."""
        return core in self.effective and core in self.allowed


def read_interrupt_affinity(host: Host, irq: int) -> Reading[InterruptAffinity]:
    """The cores of one interrupt."""
    name = f"/proc/irq/{irq}/smp_affinity_list"
    allowed = host.read(name).parsed(only_line).parsed(parse_core_list)
    if allowed.value is None:
        return allowed.without_value()
    node = host.word(f"/proc/irq/{irq}/node")
    return Reading(
        InterruptAffinity(
            irq=irq,
            allowed=allowed.value,
            effective=effective_cores(host, irq),
            node=int(node) if node.isdigit() else None,  # -1: none
            is_writable=_is_writable(host, name),
        )
    )


def read_online_cores(host: Host) -> Reading[tuple[int, ...]]:
    """The cores that run."""
    return host.read(f"{CORES}/online").parsed(only_line).parsed(parse_core_list)


def cores_kept_free(host: Host) -> frozenset[int]:
    """Cores on which nobody wants interrupts."""
    return frozenset(core for name in KEPT_FREE for core in _cores(host, f"{CORES}/{name}"))


def cores_of_node(host: Host, node: int) -> frozenset[int]:
    """The cores of a NUMA node."""
    return frozenset(_cores(host, f"/sys/devices/system/node/node{node}/cpulist"))


def steered_receive_queues(host: Host, core: int) -> Iterator[str]:
    """Receive queues whose packets RPS hands to a core, wherever the interrupt fires: `eth0 rx-0`."""
    for device, _, _ in hardware_devices(host).value or ():
        place = f"/sys/class/net/{device}/queues"
        for queue in host.names(place).value or ():
            mask = host.read(f"{place}/{queue}/rps_cpus") if queue.startswith("rx-") else None
            if mask and core in (mask.parsed(only_line).parsed(parse_core_mask).value or ()):
                yield f"{device} {queue}"


def format_core_list(cores: Iterable[int]) -> str:
    """`0-3,8` as the kernel writes sets of cores."""
    numbers = sorted(set(cores))
    # In a run of cores, the distance between a core and its place in the list stays the same.
    runs = (list(run) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]))
    return ",".join(str(run[0][1]) if len(run) == 1 else f"{run[0][1]}-{run[-1][1]}" for run in runs)


def _cores(host: Host, name: str) -> tuple[int, ...]:
    """A list that may be empty or not be there; `(null)` is how some kernels write an empty one."""
    text = host.word(name)
    return parse_core_list(text) if text[:1].isdigit() else ()


def _is_writable(host: Host, name: str) -> bool:
    try:
        return bool(os.stat(host.path(name)).st_mode & 0o200)  # noqa: PTH116
    except OSError:
        return False
