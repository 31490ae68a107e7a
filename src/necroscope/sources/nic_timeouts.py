"""How often the kernel's transmit watchdog fired on every queue.

Reads    /sys/class/net/DEVICE/queues/tx-N/tx_timeout
Needs    nothing
Costs    one small read per transmit queue, about 10 us each

The NETDEV WATCHDOG line of the kernel log is printed once per boot before Linux 6.8 or so; this
counter (since 4.15) misses none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, only_line
from necroscope.sources.nic_queues import hardware_devices
from necroscope.sources.source import Read, Source

TRANSMIT_QUEUE = re.compile(r"tx-(?P<queue>\d+)")


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

    def read() -> Reading[NicTimeouts]:
        # Listed each time: devices come and go, and a device may change its number of queues.
        devices = hardware_devices(host)
        if devices.value is None:
            return devices.without_value()
        found: list[QueueTimeouts] = []
        for device, driver, _ in devices.value:
            timeouts = _read_device(host, device, driver)
            if timeouts.value is None:
                return timeouts.without_value()
            found += timeouts.value
        if not found:
            return Reading(absence=Absence.NOT_SUPPORTED, detail="no transmit queue in /sys/class/net")
        return Reading(tuple(found))

    return read


def _read_device(host: Host, device: str, driver: str) -> Reading[NicTimeouts]:
    folder = f"/sys/class/net/{device}/queues"
    names = host.names(folder)
    if names.value is None:
        return names.without_value()
    found = []
    for name in names.value:
        if match := TRANSMIT_QUEUE.fullmatch(name):
            count = host.read(f"{folder}/{name}/tx_timeout").parsed(only_line).parsed(int)
            if count.value is None:
                return count.without_value()
            found.append(QueueTimeouts(device, driver, int(match["queue"]), count.value))
    return Reading(tuple(found))


NIC_TIMEOUTS = Source(
    "nic-timeouts", open_nic_timeouts, to_support="Linux 4.15, and the host's network namespace"
)
