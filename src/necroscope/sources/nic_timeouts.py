"""How often the kernel's transmit watchdog fired on every queue.

Reads    /sys/class/net/DEVICE/queues/tx-N/tx_timeout
Needs    nothing
Costs    one small read per transmit queue, about 10 us each

The NETDEV WATCHDOG line of the kernel log is printed once per boot before Linux 6.8 or so; this
counter (since 4.15) misses none.
"""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.nic_queues import hardware_devices
from necroscope.sources.source import Read, Source


@dataclass(frozen=True, slots=True)
class QueueTimeouts:
    """Watchdog timeouts of one transmit queue since the device appeared."""

    device: str
    driver: str
    queue: int
    timeouts: int


NicTimeouts = tuple[QueueTimeouts, ...]


def open_nic_timeouts(host: Host) -> Read[NicTimeouts]:
    """A reader of the watchdog counters of every hardware device."""
    queues = [
        (device, driver, name)
        for device, driver, _ in hardware_devices(host)
        for name in host.names(f"/sys/class/net/{device}/queues").value or ()
        if name.startswith("tx-")
    ]

    def read() -> Reading[NicTimeouts]:
        found = []
        for device, driver, name in queues:
            count = host.read(f"/sys/class/net/{device}/queues/{name}/tx_timeout").parsed(int)
            if count.value is None:
                return count.without_value()
            found.append(QueueTimeouts(device, driver, int(name.removeprefix("tx-")), count.value))
        if not found:
            return Reading(absence=Absence.NOT_SUPPORTED, detail="no transmit queue in /sys/class/net")
        return Reading(tuple(found))

    return read


NIC_TIMEOUTS = Source(
    "nic-timeouts", open_nic_timeouts, to_support="Linux 4.15, and the host's network namespace"
)
