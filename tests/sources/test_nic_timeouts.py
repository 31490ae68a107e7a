from __future__ import annotations

import shutil
from pathlib import Path

from necroscope.model.reading import Absence
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS, QueueTimeouts
from tests.sources.conftest import Content, Deny, Tree

DRIVER: dict[str, Content] = {"/sys/bus/pci/drivers/ena": None}


def device(name: str, *timeouts: str) -> dict[str, Content]:
    folder = f"/sys/class/net/{name}"
    queues: dict[str, Content] = {
        f"{folder}/queues/tx-{n}/tx_timeout": text for n, text in enumerate(timeouts)
    }
    driver = Path("../../../../bus/pci/drivers/ena")
    return {**DRIVER, f"{folder}/device/driver": driver, f"{folder}/queues/rx-0": None, **queues}


def test_every_transmit_queue(tree: Tree) -> None:
    host = tree(
        {**device("eth0", "0\n", "12\n"), **device("eth1", "3\n"), "/sys/class/net/lo/queues/tx-0": None}
    )
    assert NIC_TIMEOUTS.open(host)().value == (
        QueueTimeouts("eth0", "ena", 0, 0),
        QueueTimeouts("eth0", "ena", 1, 12),
        QueueTimeouts("eth1", "ena", 0, 3),
    )


def test_devices_and_queues_come_and_go(tree: Tree, tmp_path: Path) -> None:
    read = NIC_TIMEOUTS.open(tree(device("eth0", "0\n", "0\n")))
    tree(device("eth1", "5\n"))
    shutil.rmtree(tmp_path / "sys/class/net/eth0/queues/tx-1")
    assert read().value == (QueueTimeouts("eth0", "ena", 0, 0), QueueTimeouts("eth1", "ena", 0, 5))
    shutil.rmtree(tmp_path / "sys/class/net/eth0")
    assert read().value == (QueueTimeouts("eth1", "ena", 0, 5),)


def test_before_linux_4_15_there_is_no_counter(tree: Tree) -> None:
    reading = NIC_TIMEOUTS.open(tree({**device("eth0"), "/sys/class/net/eth0/queues/tx-0": None}))()
    assert reading.absence is Absence.NOT_SUPPORTED
    assert "/sys/class/net/eth0/queues/tx-0/tx_timeout" in reading.detail


def test_no_queue_and_no_permission(tree: Tree, deny: Deny) -> None:
    host = tree({**device("eth0"), "/sys/class/net/eth0/queues/tx-lagging": None})
    assert NIC_TIMEOUTS.open(host)().absence is Absence.NOT_SUPPORTED
    deny("eth0/queues")
    assert NIC_TIMEOUTS.open(host)().absence is Absence.NOT_PERMITTED
    deny("/sys/class/net")
    assert NIC_TIMEOUTS.open(host)().detail == "/sys/class/net: Permission denied"
