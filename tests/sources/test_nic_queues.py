from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.nic_queues import (
    NIC_QUEUES,
    Direction,
    NicQueue,
    effective_cores,
    hardware_devices,
    parse_core_mask,
    queue_of_irq,
    xps_cores,
)
from tests.sources.conftest import Content, Deny, Tree

PCI = "0000:00:05.0"


@pytest.mark.parametrize(
    ("irq_name", "bus", "queue"),
    [
        ("eth0-Tx-Rx-31", PCI, (31, "both")),  # ena
        ("mlx5_comp7@pci:0000:00:05.0", PCI, (7, "both")),
        ("virtio2-input.0", "virtio2", (0, "rx")),
        ("virtio2-output.3", "virtio2", (3, "tx")),
        ("eth0-TxRx-5", PCI, (5, "both")),  # ixgbe, igb, bnxt
        ("eth0-rx-1", PCI, (1, "rx")),
        ("eth0-tx-1", PCI, (1, "tx")),
        ("i40e-eth0-TxRx-12", PCI, (12, "both")),
        ("ice-eth0-TxRx-63", PCI, (63, "both")),
        ("iavf-eth0-TxRx-2", PCI, (2, "both")),
        ("eth%d-ntfy-block.3", PCI, (3, "both")),  # gve before Linux 6.3, and after a reset of the device:
        ("eth0-ntfy-block.3", PCI, (3, "both")),
        ("gve-ntfy-blk3@pci:0000:00:05.0", PCI, (3, "both")),
        ("mana_q1@pci:0000:00:05.0", PCI, (1, "both")),
        ("eth0-rxtx-4", PCI, (4, "both")),  # vmxnet3
        ("eth0-fp-2", PCI, (2, "both")),  # bnx2x
        ("eth0-0", PCI, (0, "both")),
        # Not a queue, or not of this device.
        ("ena-mgmnt@pci:0000:00:05.0", PCI, None),
        ("mlx5_async0@pci:0000:00:05.0", PCI, None),
        ("mlx5_comp7@pci:0000:00:06.0", PCI, None),
        ("mana_hwc@pci:0000:00:05.0", PCI, None),
        ("virtio2-config", "virtio2", None),
        ("virtio12-input.0", "virtio2", None),
        ("virtio1-req.0", "virtio2", None),
        ("i40e-0000:00:05.0:misc", PCI, None),
        ("ice-eth0:misc", PCI, None),
        ("eth0", PCI, None),
        ("eth01-Tx-Rx-0", PCI, None),
        ("eth0-Tx-Rx-0, eth1-Tx-Rx-0", PCI, None),
    ],
)
def test_names_of_interrupts(irq_name: str, bus: str, queue: tuple[int, Direction] | None) -> None:
    assert queue_of_irq(irq_name, "eth0", bus) == queue


def test_a_name_is_not_a_pattern() -> None:
    assert queue_of_irq("ethx0-Tx-Rx-0", "eth.0", PCI) is None
    assert queue_of_irq("eth.0-Tx-Rx-0", "eth.0", PCI) == (0, "both")


@pytest.mark.parametrize(
    ("mask", "cores"),
    [
        ("0\n", ()),
        ("\n", ()),
        ("00000000,00000005\n", (0, 2)),
        ("80000000,00000000,00000001\n", (0, 95)),
        ("ff", tuple(range(8))),
    ],
)
def test_masks(mask: str, cores: tuple[int, ...]) -> None:
    assert parse_core_mask(mask) == cores


def device(name: str, driver: str, bus: str) -> dict[str, Content]:
    """A network device as sysfs shows it."""
    place = f"/sys/devices/pci0000:00/{bus}"
    return {
        f"{place}/net/{name}/device": Path(f"../../../{bus}"),
        f"{place}/driver": Path(f"../../../bus/pci/drivers/{driver}"),
        f"/sys/bus/pci/drivers/{driver}": None,
        f"/sys/class/net/{name}": Path(f"../../devices/pci0000:00/{bus}/net/{name}"),
    }


def interrupts(*names: str) -> dict[str, Content]:
    """Interrupts from 40 on, each fired on the core of its own number modulo 4."""
    files: dict[str, Content] = {}
    rows = ["     CPU0  CPU1  CPU2  CPU3"]
    for irq, name in enumerate(names, 40):
        rows.append(f" {irq}:   0   0   0   0  PCI-MSI {irq}-edge      {name}")
        files[f"/proc/irq/{irq}/effective_affinity_list"] = f"{irq % 4}\n"
        files[f"/proc/irq/{irq}/smp_affinity_list"] = "0-3\n"
    return {"/proc/interrupts": "\n".join(rows) + "\n", **files}


def test_the_map_of_a_host(tree: Tree) -> None:
    host = tree(
        {
            **device("eth0", "ena", PCI),
            **device("eth1", "ena", "0000:00:06.0"),
            "/sys/devices/virtual/net/lo": None,
            "/sys/class/net/lo": Path("../../devices/virtual/net/lo"),
            **interrupts(
                "timer", "ena-mgmnt@pci:0000:00:05.0", "eth0-Tx-Rx-0", "eth0-Tx-Rx-1", "eth1-Tx-Rx-0"
            ),
            f"/sys/devices/pci0000:00/{PCI}/net/eth0/queues/tx-0/xps_cpus": "00000000,0000000c\n",
            f"/sys/devices/pci0000:00/{PCI}/net/eth0/queues/tx-1/xps_cpus": "cut",
        }
    )
    queues = NIC_QUEUES.open(host)().value
    other = "0000:00:06.0"
    assert queues == (
        NicQueue("eth0", "ena", PCI, 0, "both", 42, "eth0-Tx-Rx-0", (2,), (2, 3)),
        NicQueue("eth0", "ena", PCI, 1, "both", 43, "eth0-Tx-Rx-1", (3,), ()),
        NicQueue("eth1", "ena", other, 0, "both", 44, "eth1-Tx-Rx-0", (0,), ()),
    )
    assert queues[0].name == "eth0 queue 0"


def test_gve_has_blocks_for_more_queues_than_it_uses(tree: Tree) -> None:
    """Of eight blocks, the first four are for transmit queues; here two of each kind are in use."""
    names = [f"gve-ntfy-blk{block}@pci:{PCI}" for block in range(8)]
    folder = f"/sys/devices/pci0000:00/{PCI}/net/eth0/queues"
    in_use: dict[str, Content] = {f"{folder}/{name}": None for name in ("rx-0", "rx-1", "tx-0", "tx-1")}
    queues = NIC_QUEUES.open(tree({**device("eth0", "gve", PCI), **interrupts(*names), **in_use}))().value
    assert queues
    assert [(queue.name, queue.irq) for queue in queues] == [
        ("eth0 tx queue 0", 40),
        ("eth0 tx queue 1", 41),
        ("eth0 rx queue 0", 44),
        ("eth0 rx queue 1", 45),
    ]


def test_gve_before_6_3_is_told_by_the_number_of_the_interrupt(tree: Tree) -> None:
    """Both devices call theirs eth%d."""
    other = "0000:00:06.0"
    block = "eth%d-ntfy-block"
    files: dict[str, Content] = {
        **device("ens5", "gve", PCI),
        **device("ens6", "gve", other),
        **interrupts(f"{block}.0", f"{block}.1", "eth%d-mgmnt", f"{block}.0", f"{block}.1", "eth%d-mgmnt"),
    }
    for name, bus, numbers in (("ens5", PCI, (40, 41, 42)), ("ens6", other, (43, 44, 45))):
        place = f"/sys/devices/pci0000:00/{bus}"
        files.update({f"{place}/msi_irqs/{irq}": "msix\n" for irq in numbers})
        files.update({f"{place}/net/{name}/queues/{queue}": None for queue in ("rx-0", "tx-0")})
    queues = NIC_QUEUES.open(tree(files))().value
    assert queues
    assert [(queue.name, queue.irq) for queue in queues] == [
        ("ens5 tx queue 0", 40),
        ("ens5 rx queue 0", 41),
        ("ens6 tx queue 0", 43),
        ("ens6 rx queue 0", 44),
    ]


@pytest.mark.parametrize(
    ("effective", "cores"),
    [
        ("3\n", (3,)),
        ("0,2-3\n", (0, 2, 3)),
        ("\n", (0, 1)),  # an interrupt that never fired; then what is allowed
        ("3", (0, 1)),  # cut: it may have been 30
        ("", (0, 1)),
        (b"\xff\xfe\x00", (0, 1)),
        (None, (0, 1)),
    ],
)
def test_where_an_interrupt_fires(tree: Tree, effective: Content, cores: tuple[int, ...]) -> None:
    host = tree({"/proc/irq/7/effective_affinity_list": effective, "/proc/irq/7/smp_affinity_list": "0-1\n"})
    assert effective_cores(host, 7) == cores
    assert effective_cores(host, 8) == ()


@pytest.mark.parametrize("mask", [None, "", "3", "x\n", b"\xff\xfe\x00"])
def test_a_bad_xps_mask_names_no_core(tree: Tree, mask: Content) -> None:
    assert xps_cores(tree({"/sys/class/net/eth0/queues/tx-0/xps_cpus": mask}), "eth0", 0) == ()


def test_devices_that_cannot_be_told(tree: Tree, deny: Deny) -> None:
    host = tree({"/sys/class/net/lo": None, **interrupts("timer")})
    reading = NIC_QUEUES.open(host)()
    assert (reading.absence, "/sys/class/net" in reading.detail) == (Absence.NOT_SUPPORTED, True)
    deny("/sys/class/net")
    for refused in (hardware_devices(host), NIC_QUEUES.open(host)()):
        assert refused.absence is Absence.NOT_PERMITTED
        assert refused.detail == "/sys/class/net: Permission denied"


def test_a_device_whose_interrupts_we_do_not_know_is_not_one_without_queues(tree: Tree) -> None:
    reading = NIC_QUEUES.open(tree({**device("eth0", "rare", PCI), **interrupts("rare-and-new-0")}))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert reading.detail == "/proc/interrupts names no queue of eth0 (rare)"


def test_this_machine() -> None:
    devices = hardware_devices(Host()).value
    if not devices:
        pytest.skip("no network device with a driver")
    for name, driver, bus in devices:
        assert Path(f"/sys/class/net/{name}/device/driver").resolve().name == driver
        assert Path(f"/sys/class/net/{name}/device").resolve().name == bus
    for queue in NIC_QUEUES.open(Host())().value or ():
        assert queue.cores, queue
