"""The counters that each network driver keeps itself: what `ethtool -S` prints.

Reads    the SIOCETHTOOL ioctl: driver information, names and values of the statistics
Needs    the network namespace of the devices; no capability
Costs    three ioctls per device, about 30 us each (virtio_net); some hardware takes 1 ms

    total_resets: 3
    suspected_poll_starvation: 2
    queue_5_tx_missed_tx: 129
"""

from __future__ import annotations

import array
import errno
import fcntl
import socket
import struct
from dataclasses import dataclass
from typing import NamedTuple

from necroscope.model.reading import Absence, Reading
from necroscope.model.shell_command import shell_command
from necroscope.sources.host import Host, absence_of, missing
from necroscope.sources.nic_queues import hardware_devices
from necroscope.sources.source import Read, Source

# From linux/sockios.h and linux/ethtool.h.
SIOCETHTOOL = 0x8946
ETHTOOL_GDRVINFO, ETHTOOL_GSTRINGS, ETHTOOL_GSTATS = 0x03, 0x1B, 0x1D
ETH_SS_STATS = 1
DRVINFO = struct.Struct("=I32s32s32s32s32s12sIIIII")
NAME_BYTES = 32
# The kernel writes as many counters as the device has by then, however many were asked for: a device
# whose queues grow between two calls would write past the end of our memory. So we have plenty.
MOST_COUNTERS = 32768  # mlx5 has some 90 for each of its channels
ROOM_BYTES = 2 * NAME_BYTES * MOST_COUNTERS


class Counter(NamedTuple):
    """One of a driver's own counters."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """All counters of one device, in the driver's own names and order."""

    device: str
    driver: str
    driver_version: str
    firmware: str
    values: tuple[Counter, ...]


NicCounters = tuple[DeviceCounters, ...]


def parse_names(block: bytes) -> tuple[str, ...]:
    """The names in a string set: 32 bytes each, padded with zeros."""
    chunks = (block[i : i + NAME_BYTES] for i in range(0, len(block), NAME_BYTES))
    return tuple(chunk.split(b"\0", 1)[0].decode(errors="replace") for chunk in chunks)


def open_nic_counters(host: Host) -> Read[NicCounters]:
    """A reader of the driver counters of every hardware device."""
    room = array.array("B", bytes(ROOM_BYTES))

    def read() -> Reading[NicCounters]:
        if not host.is_live:
            return Reading(absence=Absence.NOT_SUPPORTED, detail="a recorded tree has no driver to ask")
        devices = hardware_devices(host)
        if devices.value is None:
            return devices.without_value()
        found = []
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            for device, driver, _ in devices.value:
                try:
                    counters = _read_device(door, device, room)
                    if not host.is_own and counters.driver != driver:
                        # A pod has an eth0, too.
                        raise OSError(errno.ENODEV, f"a device of another driver answers, {counters.driver}")
                    found.append(counters)
                except OSError as error:
                    # A driver may keep no statistics; the other devices still count.
                    if absence_of(error) is not Absence.SWITCHED_OFF:
                        return missing(shell_command(["ethtool", "-S", device]), error)
        if not found:
            return Reading(absence=Absence.NOT_SUPPORTED, detail="no network device keeps driver counters")
        return Reading(tuple(found))

    return read


def _read_device(door: socket.socket, device: str, room: array.array[int]) -> DeviceCounters:
    fields = DRVINFO.unpack_from(_ethtool(door, device, struct.pack("=I", ETHTOOL_GDRVINFO), room))
    driver, version, firmware = (field.split(b"\0", 1)[0].decode(errors="replace") for field in fields[1:4])
    count = fields[8]
    if count > MOST_COUNTERS:
        raise OSError(errno.EFBIG, f"{count} counters are more than we have room for")
    strings = _ethtool(door, device, struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_STATS, count), room)
    named = struct.unpack_from("=I", strings, 8)
    names = parse_names(bytes(strings[12 : 12 + NAME_BYTES * count]))
    stats = _ethtool(door, device, struct.pack("=II", ETHTOOL_GSTATS, count), room)
    if not named == struct.unpack_from("=I", stats, 4) == (count,):
        raise OSError(errno.EAGAIN, "the number of counters changed between two calls")
    values = struct.unpack_from(f"={count}Q", stats, 8)
    return DeviceCounters(
        device, driver, version, firmware, tuple(map(Counter._make, zip(names, values, strict=True)))
    )


def _ethtool(door: socket.socket, device: str, request: bytes, room: array.array[int]) -> memoryview:
    """The kernel's answer, which is in our room until the next question."""
    answer = memoryview(room)
    answer[: len(request)] = request
    address, _ = room.buffer_info()
    fcntl.ioctl(door, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), address))
    return answer


NIC_COUNTERS = Source(
    "nic-counters",
    open_nic_counters,
    pace_seconds=5,  # a large NIC has thousands; what is urgent among them the kernel log tells at once
    to_support="the host's network namespace (hostNetwork in Kubernetes)",
)
