"""Network devices: driver, firmware, and what ethtool can set.

Reads    /sys/class/net, the SIOCETHTOOL ioctl
Needs    the network namespace of the devices; no capability
Costs    six ioctls and ten small reads per device: 0.35 ms (virtio_net); some hardware takes 1 ms for each

Only devices with a driver; those of containers come and go. Addresses never.
"""

from __future__ import annotations

import array
import errno
import fcntl
import socket
import struct
from collections.abc import Iterator

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.model.shell_command import shell_command
from necroscope.sources.host import missing
from necroscope.sources.nic_counters import (
    DRVINFO,
    ETHTOOL_GDRVINFO,
    ETHTOOL_GSTRINGS,
    SIOCETHTOOL,
    parse_names,
)
from necroscope.sources.nic_queues import hardware_devices

# From linux/ethtool.h: the question, and the names of the 32-bit numbers in the answer; "" is not told.
SETTINGS = {
    0x10: ("ring", ("", "", "", "", "rx", "rx-mini", "rx-jumbo", "tx")),
    0x3C: ("channels", ("", "", "", "", "rx", "tx", "other", "combined")),
    0x0E: (
        "coalesce",
        (
            *("rx-usecs", "rx-frames", "rx-usecs-irq", "rx-frames-irq"),
            *("tx-usecs", "tx-frames", "tx-usecs-irq", "tx-frames-irq"),
            *("stats-block-usecs", "adaptive-rx", "adaptive-tx"),
        ),
    ),
    0x12: ("pause", ("autoneg", "rx", "tx")),
}
ETHTOOL_GFEATURES, ETH_SS_FEATURES = 0x3A, 4
FEATURES_AT_MOST = 256
ROOM_BYTES = 64 << 10
NOT_THERE = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENODEV, errno.EPERM)
FILES = {"mtu": "mtu", "speed": "speed", "tx_queue_len": "queue-length", "threaded": "threaded"}


def read_nics(subject: Subject) -> Reading[Facts]:
    """DEVICE/driver, version, firmware, mtu, speed, queues; rings, channels, coalescing, features."""
    host = subject.host
    devices = hardware_devices(host)
    if devices.value is None:
        return devices.without_value()
    gathered = Gathered()
    for device, driver, _ in devices.value:
        gathered.add(f"{device}/driver", driver)
        for file, name in FILES.items():
            value = host.word(f"/sys/class/net/{device}/{file}")  # of a link that is down, no speed
            gathered.add_known(f"{device}/{name}", value if value != "-1" else "")
        gathered.add_known(f"{device}/numa-node", host.word(f"/sys/class/net/{device}/device/numa_node"))
        queues = host.names(f"/sys/class/net/{device}/queues").value or ()
        for kind in ("rx", "tx"):
            gathered.add(
                f"{device}/{kind}-queues", str(sum(queue.startswith(f"{kind}-") for queue in queues))
            )
    if host.is_live and subject.shares_network:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
            for device, _, _ in devices.value:
                _ask_driver(door, device, gathered)
    else:
        why = "another network namespace" if host.is_live else "not running"
        for device, driver, _ in devices.value:
            version = host.word(f"/sys/module/{driver}/version")  # of drivers that are not part of the kernel
            gathered.add_known(f"{device}/driver-version", version)
        gathered.say(f"what only the driver can tell: {why}")
    return gathered.reading("no network device")


def _ask_driver(door: socket.socket, device: str, gathered: Gathered) -> None:
    try:
        fields = DRVINFO.unpack_from(_ethtool(door, device, struct.pack("=I", ETHTOOL_GDRVINFO)))
        version, firmware = (field.split(b"\0", 1)[0].decode(errors="replace") for field in fields[2:4])
        gathered.add_known(f"{device}/driver-version", version)
        gathered.add_known(f"{device}/firmware", firmware if firmware != "N/A" else "")
    except OSError as error:
        gathered.miss(missing(shell_command(["ethtool", "-i", device]), error))
    for command, (group, names) in SETTINGS.items():
        try:
            answer = _ethtool(door, device, struct.pack("=I", command))
        except OSError as error:
            if error.errno not in NOT_THERE:
                gathered.miss(missing(f"{group} of {device}", error))
            continue
        values = dict(zip(names, struct.unpack_from(f"={len(names)}I", answer, 4), strict=True))
        for name in ("rx", "tx") if group == "coalesce" else ():
            if values.get(f"adaptive-{name}"):  # then the driver moves it
                values.pop(f"{name}-usecs")
        for name, value in values.items():
            if name:
                gathered.add(f"{device}/{group}/{name}", str(value))
    try:
        for name, is_on in _features(door, device):
            gathered.add(f"{device}/features/{name}", "on" if is_on else "off")
    except OSError as error:
        if error.errno not in NOT_THERE:
            gathered.miss(missing(shell_command(["ethtool", "-k", device]), error))


def _features(door: socket.socket, device: str) -> Iterator[tuple[str, bool]]:
    strings = _ethtool(door, device, struct.pack("=III", ETHTOOL_GSTRINGS, ETH_SS_FEATURES, FEATURES_AT_MOST))
    (count,) = struct.unpack_from("=I", strings, 8)
    count = min(count, FEATURES_AT_MOST)
    names = parse_names(bytes(strings[12 : 12 + 32 * count]))
    blocks = (count + 31) // 32
    answer = _ethtool(door, device, struct.pack("=II", ETHTOOL_GFEATURES, blocks))
    for index, name in enumerate(names):
        # available, requested, active, never changed
        available, _, active, fixed = struct.unpack_from("=4I", answer, 8 + 16 * (index // 32))
        bit = 1 << index % 32
        if name and available & bit and not fixed & bit:
            yield name, bool(active & bit)


def _ethtool(door: socket.socket, device: str, request: bytes) -> memoryview:
    """The kernel's answer to one question."""
    room = array.array("B", request + bytes(ROOM_BYTES - len(request)))
    address, _ = room.buffer_info()
    fcntl.ioctl(door, SIOCETHTOOL, struct.pack("16sP16x", device.encode(), address))
    return memoryview(room)
