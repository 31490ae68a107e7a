"""Which core serves which queue of which network device.

Reads    /sys/class/net, /proc/interrupts, /proc/irq/N/effective_affinity_list, queues/tx-N/xps_cpus
Needs    nothing
Costs    some reads per queue, about 50 us each; read at the beginning and the end of a look

A queue's interrupt fires on the cores of its *effective* affinity (Linux 4.15); smp_affinity_list is
only what is allowed. XPS says which cores choose a transmit queue, not which core completes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, only_line, parse_core_list
from necroscope.sources.interrupts import Interrupt, Interrupts, parse_interrupts
from necroscope.sources.source import Read, Source

Direction = Literal["rx", "tx", "both"]

# How drivers name the interrupt of a queue; {device} is the interface, {bus} its bus address.
IRQ_NAMES: tuple[tuple[str, Direction], ...] = (
    (r"{device}-Tx-Rx-(?P<queue>\d+)", "both"),  # ena
    (r"(?:i40e-|iavf-|ice-)?{device}-(?:TxRx|rxtx|fp)-(?P<queue>\d+)", "both"),  # Intel, bnxt, vmxnet3
    (r"(?:i40e-|iavf-|ice-)?{device}-(?:tx|Tx|TX)-(?P<queue>\d+)", "tx"),
    (r"(?:i40e-|iavf-|ice-)?{device}-(?:rx|Rx|RX)-(?P<queue>\d+)", "rx"),
    (r"mlx5_comp(?P<queue>\d+)@pci:{bus}", "both"),
    (r"mana_q(?P<queue>\d+)@pci:{bus}", "both"),
    (r"{bus}-output\.(?P<queue>\d+)", "tx"),  # virtio_net
    (r"{bus}-input\.(?P<queue>\d+)", "rx"),
    (r"(?:{device}|eth%d)-ntfy-block\.(?P<queue>\d+)", "both"),  # gve: see _find_queues and _split_gve
    (r"gve-ntfy-blk(?P<queue>\d+)@pci:{bus}", "both"),
    (r"{device}-(?P<queue>\d+)", "both"),  # mlx4, older mlx5
)


@dataclass(frozen=True, slots=True)
class NicQueue:
    """One queue of one device, its interrupt, and the cores that serve it."""

    device: str
    driver: str
    bus: str
    queue: int
    direction: Direction
    irq: int
    irq_name: str
    cores: tuple[int, ...]  # where the interrupt really fires
    xps_cores: tuple[int, ...]  # which cores send through this queue; empty: not set or not supported

    @property
    def name(self) -> str:
        """For people: `eth0 queue 5`, `eth0 rx queue 0`."""
        return (
            f"{self.device} queue {self.queue}"
            if self.direction == "both"
            else f"{self.device} {self.direction} queue {self.queue}"
        )


NicQueues = tuple[NicQueue, ...]
Served = tuple[Interrupt, int, Direction]  # an interrupt and the queue that it serves


def queue_of_irq(irq_name: str, device: str, bus: str) -> tuple[int, Direction] | None:
    """The queue and direction that an interrupt's name stands for, if it is one of this device's."""
    for pattern, direction in IRQ_NAMES:
        match = re.fullmatch(pattern.format(device=re.escape(device), bus=re.escape(bus)), irq_name)
        if match:
            return int(match["queue"]), direction
    return None


def parse_core_mask(text: str) -> tuple[int, ...]:
    """`00000000,00000005` as the kernel writes masks of cores."""
    mask = int(text.strip().replace(",", "") or "0", 16)
    return tuple(core for core in range(mask.bit_length()) if mask >> core & 1)


def open_nic_queues(host: Host) -> Read[NicQueues]:
    """A reader of the map queue -> interrupt -> core of every device with a driver."""

    def read() -> Reading[NicQueues]:
        interrupts = host.read("/proc/interrupts").parsed(parse_interrupts)
        if interrupts.value is None:
            return interrupts.without_value()
        devices = hardware_devices(host)
        if devices.value is None:
            return devices.without_value()
        queues = []
        for device, driver, bus in devices.value:
            found = _find_queues(host, interrupts.value, device, bus)
            for interrupt, queue, direction in _split_gve(host, device, found) if driver == "gve" else found:
                cores = effective_cores(host, interrupt.irq)
                xps = xps_cores(host, device, queue) if direction != "rx" else ()
                queues.append(
                    NicQueue(device, driver, bus, queue, direction, interrupt.irq, interrupt.name, cores, xps)
                )
        if not queues:
            names = ", ".join(f"{device} ({driver})" for device, driver, _ in devices.value)
            detail = f"/proc/interrupts names no queue of {names}"
            return Reading(absence=Absence.NOT_SUPPORTED, detail=detail)
        return Reading(tuple(queues))

    return read


def hardware_devices(host: Host) -> Reading[tuple[tuple[str, str, str], ...]]:
    """(interface, driver, bus address) of every interface that has a driver behind it."""
    names = host.names("/sys/class/net")
    if names.value is None:
        return names.without_value()
    found = []
    for device in names.value:
        driver = host.link_name(f"/sys/class/net/{device}/device/driver")
        if driver:
            found.append((device, driver, host.link_name(f"/sys/class/net/{device}/device")))
    if not found:
        detail = "no network device with a driver in /sys/class/net"
        return Reading(absence=Absence.NOT_SUPPORTED, detail=detail)
    return Reading(tuple(found))


def effective_cores(host: Host, irq: int) -> tuple[int, ...]:
    """The cores on which an interrupt fires; empty where the kernel does not say."""
    for name in ("effective_affinity_list", "smp_affinity_list"):  # the first since Linux 4.15
        cores = host.read(f"/proc/irq/{irq}/{name}").parsed(only_line).parsed(parse_core_list).value
        if cores:
            return cores
    return ()


def xps_cores(host: Host, device: str, queue: int) -> tuple[int, ...]:
    """The cores that XPS lets send through a queue; empty where it is not set."""
    mask = host.read(f"/sys/class/net/{device}/queues/tx-{queue}/xps_cpus")
    return mask.parsed(only_line).parsed(parse_core_mask).value or ()


def _find_queues(host: Host, interrupts: Interrupts, device: str, bus: str) -> list[Served]:
    # Before Linux 6.3, gve asks for its interrupts before it has a name: only the number tells whose it is.
    numbers = host.names(f"/sys/class/net/{device}/device/msi_irqs").value or ()
    return [
        (interrupt, *found)
        for interrupt in interrupts
        if (found := queue_of_irq(interrupt.name, device, bus))
        and (str(interrupt.irq) in numbers or not interrupt.name.startswith("eth%d-"))
    ]


def _split_gve(host: Host, device: str, blocks: list[Served]) -> list[Served]:
    """The first half of gve's blocks is for transmit queues, the other for receive queues, used or not."""
    half = len(blocks) // 2
    names = host.names(f"/sys/class/net/{device}/queues").value or ()
    split: list[Served] = [
        (interrupt, block, "tx") if block < half else (interrupt, block - half, "rx")
        for interrupt, block, _ in blocks
    ]
    return [served for served in split if f"{served[2]}-{served[1]}" in names]


NIC_QUEUES = Source(
    "nic-queues",
    open_nic_queues,
    pace_seconds=60,
    to_support="the host's network namespace and sysfs",
)
