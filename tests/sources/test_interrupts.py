from __future__ import annotations

import pytest

from necroscope.sources.interrupts import INTERRUPTS, CoreCount, Interrupt, parse_interrupts
from tests.sources.conftest import Tree

TWO_CORES = """\
           CPU0       CPU1
  0:         93          0   IO-APIC   2-edge      timer
  9:          0          0   IO-APIC   9-fasteoi   acpi
 16:          0         12   IO-APIC  16-fasteoi   PCIe PME, aerdrv, Intel HDA
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 25:          0          0   IO-APIC   6-edge
 38:          0      17514 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
NMI:          0          0   Non-maskable interrupts
LOC:     270492     270276   Local timer interrupts
ERR:          0
MIS:          0
PIN:          0          0   Posted-interrupt notification event
"""
# Graviton: the trigger is a word of its own.
ARM = """\
           CPU0       CPU1
 11:      12345      23456     GICv3  27 Level     arch_timer
 14:          0          7  ITS-PCI-MSIX-0000:00:05.0   1 Edge      eth0-Tx-Rx-0
IPI0:       100        200       Rescheduling interrupts
Err:          0
"""


def test_devices_by_number_and_only_they() -> None:
    assert parse_interrupts(TWO_CORES) == (
        Interrupt(0, "timer", (CoreCount(0, 93),)),
        Interrupt(9, "acpi", ()),
        Interrupt(16, "PCIe PME, aerdrv, Intel HDA", (CoreCount(1, 12),)),
        Interrupt(24, "ACPI:Ged", (CoreCount(0, 1),)),
        Interrupt(25, "", ()),
        Interrupt(38, "virtio2-input.0", (CoreCount(1, 17514),)),
    )


def test_arm() -> None:
    assert parse_interrupts(ARM) == (
        Interrupt(11, "arch_timer", (CoreCount(0, 12345), CoreCount(1, 23456))),
        Interrupt(14, "eth0-Tx-Rx-0", (CoreCount(1, 7),)),
    )


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("PCI-MSI 2621441-edge      ena-mgmnt@pci:0000:00:05.0", "ena-mgmnt@pci:0000:00:05.0"),
        ("IR-PCI-MSIX-0000:17:00.0   3-edge      mlx5_comp2@pci:0000:17:00.0", "mlx5_comp2@pci:0000:17:00.0"),
        ("Hyper-V PCIe MSI 4194304-edge      mlx5_async0@pci:0001:00:02.0", "mlx5_async0@pci:0001:00:02.0"),
        ("xen-pirq    -msi-x     eth0-TxRx-0", "eth0-TxRx-0"),
        ("xen-dyn    -event     eth0-q0-rx", "eth0-q0-rx"),
        ("IO-APIC-edge      timer", "timer"),
    ],
)
def test_names_behind_every_chip(description: str, name: str) -> None:
    (interrupt,) = parse_interrupts(f"      CPU0\n 40:  5  {description}\n")
    assert interrupt == Interrupt(40, name, (CoreCount(0, 5),))


def test_96_cores_of_which_one_is_offline() -> None:
    cores = [core for core in range(97) if core != 40]
    head = "     " + "".join(f"{f'CPU{core}':>10} " for core in cores)
    row = " 77: " + "".join(f"{core if core in (41, 96) else 0:>10} " for core in cores)
    text = f"{head}\n{row} PCI-MSI 77-edge      eth0-Tx-Rx-31\nERR:          0\n"
    assert parse_interrupts(text) == (Interrupt(77, "eth0-Tx-Rx-31", (CoreCount(41, 41), CoreCount(96, 96))),)


@pytest.mark.parametrize(
    "text",
    [
        "\n",
        TWO_CORES.partition("\n")[2],  # no head line
        "  CPU0  CPU1\n 38:   1\n",  # a core's count is missing
        "  CPU0  CPU1\n 38:   1  PCI-MSI 1-edge eth0\n",
    ],
)
def test_what_no_kernel_writes(text: str) -> None:
    with pytest.raises(ValueError, match=r"cores|invalid"):
        parse_interrupts(text)


def test_source(tree: Tree) -> None:
    assert INTERRUPTS.open(tree({"/proc/interrupts": ARM}))().value == parse_interrupts(ARM)
