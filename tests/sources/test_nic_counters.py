from __future__ import annotations

import ctypes
import errno
import fcntl
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.nic_counters import (
    DRVINFO,
    MOST_COUNTERS,
    NIC_COUNTERS,
    Counter,
    DeviceCounters,
    parse_names,
)
from tests.sources.conftest import Deny, Tree

GDRVINFO, GSTRINGS, GSTATS = 0x03, 0x1B, 0x1D
COUNTERS = {"total_resets": 3, "suspected_poll_starvation": 2, "queue_5_tx_missed_tx": 2**64 - 1}
Ioctl = Callable[[object, int, bytes], None]


def driver(counters: dict[str, int], *, grows_by: int = 0) -> Ioctl:
    """SIOCETHTOOL as a kernel does it: it writes what the device has, not what was asked for."""
    names, values = list(counters), list(counters.values())

    def ioctl(_: object, request: int, ifreq: bytes) -> None:
        assert request == 0x8946
        device, address = struct.unpack("16sP16x", ifreq)
        assert device.rstrip(b"\0") == b"eth0"
        (command,) = struct.unpack("=I", ctypes.string_at(address, 4))
        more = [f"queue_{n}_tx_cnt" for n in range(grows_by)]
        count = len(names) + grows_by
        if command == GDRVINFO:
            info = DRVINFO.pack(
                command, b"ena", b"2.13.0g", b"fw-1", b"0000:00:05.0", b"", b"", 0, len(names), 0, 0, 0
            )
            ctypes.memmove(address, info, len(info))
        elif command == GSTRINGS:
            block = b"".join(name.encode().ljust(32, b"\0") for name in names + more)
            ctypes.memmove(address, struct.pack("=III", command, 1, count) + block, 12 + len(block))
        elif command == GSTATS:
            block = struct.pack(f"={count}Q", *values, *[0] * grows_by)
            ctypes.memmove(address, struct.pack("=II", command, count) + block, 8 + len(block))

    return ioctl


@pytest.fixture
def live(tree: Tree) -> Host:
    """A host with one ENA device that we may ask."""
    link = Path("../../../../bus/pci/drivers/ena")
    host = tree({"/sys/bus/pci/drivers/ena": None, "/sys/class/net/eth0/device/driver": link})
    object.__setattr__(host, "is_live", True)
    return host


def test_names_and_values_in_the_order_of_the_driver(live: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", driver(COUNTERS))
    assert NIC_COUNTERS.open(live)().value == (
        DeviceCounters("eth0", "ena", "2.13.0g", "fw-1", tuple(map(Counter._make, COUNTERS.items()))),
    )


def test_the_device_of_a_pod_is_not_taken_for_that_of_its_host(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Path("../../../../bus/pci/drivers/mlx5_core")
    host = tree({"/sys/bus/pci/drivers/mlx5_core": None, "/sys/class/net/eth0/device/driver": link})
    object.__setattr__(host, "is_live", True)
    monkeypatch.setattr(fcntl, "ioctl", driver(COUNTERS))
    reading = NIC_COUNTERS.open(host)()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert reading.detail == "ethtool -S eth0: a device of another driver answers, ena"


def test_a_device_that_grows_between_two_calls(live: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `ethtool -L eth0 combined 128` the kernel writes far more than was asked for."""
    monkeypatch.setattr(fcntl, "ioctl", driver(COUNTERS, grows_by=4000))
    reading = NIC_COUNTERS.open(live)()
    assert reading.absence is Absence.BROKEN
    assert reading.detail == "ethtool -S eth0: the number of counters changed between two calls"


def test_more_counters_than_we_have_room_for(live: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", driver({f"queue_{n}_tx_cnt": n for n in range(MOST_COUNTERS + 1)}))
    assert (
        NIC_COUNTERS.open(live)().detail == "ethtool -S eth0: 32769 counters are more than we have room for"
    )


@pytest.mark.parametrize(
    ("number", "absence", "detail"),
    [
        (errno.EOPNOTSUPP, Absence.NOT_SUPPORTED, "no network device keeps driver counters"),
        (errno.ENODEV, Absence.NOT_SUPPORTED, "ethtool -S eth0: gone"),
        (errno.EPERM, Absence.NOT_PERMITTED, "ethtool -S eth0: gone"),
        (errno.EIO, Absence.BROKEN, "ethtool -S eth0: gone"),
    ],
)
def test_a_driver_that_refuses(
    live: Host, monkeypatch: pytest.MonkeyPatch, number: int, absence: Absence, detail: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, "gone")

    monkeypatch.setattr(fcntl, "ioctl", fail)
    reading = NIC_COUNTERS.open(live)()
    assert (reading.absence, reading.detail) == (absence, detail)


def test_no_device_and_no_permission(live: Host, tmp_path: Path, deny: Deny) -> None:
    (tmp_path / "sys/class/net/eth0/device/driver").unlink()
    assert NIC_COUNTERS.open(live)().absence is Absence.NOT_SUPPORTED
    deny("/sys/class/net")
    assert NIC_COUNTERS.open(live)().absence is Absence.NOT_PERMITTED


def test_a_recorded_tree_has_no_driver(tree: Tree) -> None:
    assert NIC_COUNTERS.open(tree({}))().absence is Absence.NOT_SUPPORTED


def test_names_may_fill_their_place_and_hold_anything() -> None:
    assert parse_names(b"a".ljust(32, b"\0") + b"b" * 32 + b"\xff".ljust(32, b"\0")) == (
        "a",
        "b" * 32,
        "\ufffd",
    )
    assert parse_names(b"") == ()


@pytest.fixture
def here() -> Callable[[], tuple[DeviceCounters, ...]]:
    if not NIC_COUNTERS.open(Host())().value:
        pytest.skip(f"this machine: {NIC_COUNTERS.open(Host())().reason}")
    return lambda: NIC_COUNTERS.open(Host())().value or ()


def test_this_machine(here: Callable[[], tuple[DeviceCounters, ...]]) -> None:
    for before, after in zip(here(), here(), strict=True):
        assert Path(f"/sys/class/net/{after.device}/device/driver").resolve().name == after.driver
        assert [name for name, _ in before.values] == [name for name, _ in after.values]
        assert all(name.isprintable() and name for name, _ in after.values)


def test_virtio_net_sums_up_its_queues(here: Callable[[], tuple[DeviceCounters, ...]]) -> None:
    """Newer kernels give the sum of all queues before each queue's own count."""
    devices = [device for device in here() if device.driver == "virtio_net"]
    if not devices or "rx_kicks" not in dict(devices[0].values):
        pytest.skip("no virtio_net device with sums")
    values = dict(devices[0].values)
    queues = len(list(Path(f"/sys/class/net/{devices[0].device}/queues").glob("rx-*")))
    if "rx0_kicks" in values:
        assert values["rx_kicks"] == sum(values[f"rx{queue}_kicks"] for queue in range(queues))


def test_the_same_as_ethtool(here: Callable[[], tuple[DeviceCounters, ...]]) -> None:
    if not shutil.which("ethtool"):
        pytest.skip("ethtool is not installed")
    for number, before in enumerate(here()):
        output = subprocess.run(["ethtool", "-S", before.device], capture_output=True, text=True, check=True)
        rows = [line.rpartition(":") for line in output.stdout.splitlines()[1:]]
        after = here()[number]
        assert [name.strip() for name, _, _ in rows] == [name.strip() for name, _ in before.values]
        for (name, least), (_, _, value), (_, most) in zip(before.values, rows, after.values, strict=True):
            assert least <= int(value) <= most, name
