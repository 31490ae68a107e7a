"""Which interrupts move where, on machines that are larger than the one at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import CannotLookError, RefusedError, UsageError
from necroscope.remedies.plan.move_interrupts import plan_move_interrupts
from necroscope.remedies.plan.remedy import Part
from necroscope.sources.host import Host

IRQS = 30  # of queue 0; the next ones follow


class Machine:
    """A tree with one ENA device; queue N is served by the Nth of the cores given."""

    def __init__(self, root: Path, cores: int, served_by: tuple[int, ...], nodes: int = 1) -> None:
        self.root = root
        self.write("proc/1/stat", "1 (systemd) S 0\n")
        self.write("sys/devices/system/cpu/online", f"0-{cores - 1}\n")
        self.write("sys/devices/system/cpu/isolated", "\n")
        per_node = cores // nodes
        for node in range(nodes):
            first = node * per_node
            self.write(f"sys/devices/system/node/node{node}/cpulist", f"{first}-{first + per_node - 1}\n")
        rows = [" ".join(f"CPU{core}" for core in range(cores))]
        for queue, core in enumerate(served_by):
            rows.append(f"{IRQS + queue}: {'0 ' * cores} PCI-MSI {queue}-edge eth0-Tx-Rx-{queue}")
            self.interrupt(IRQS + queue, allowed=f"0-{cores - 1}", effective=str(core))
            self.write(f"sys/class/net/eth0/queues/rx-{queue}/rps_cpus", "0\n")
            self.write(f"sys/class/net/eth0/queues/tx-{queue}/xps_cpus", "0\n")
        self.write("proc/interrupts", "\n".join(rows) + "\n")
        device = root / "sys/devices/pci/0000:00:05.0"
        (root / "sys/drivers/ena").mkdir(parents=True)
        device.mkdir(parents=True)
        (device / "driver").symlink_to("../../../drivers/ena")
        (root / "sys/class/net/eth0/device").symlink_to("../../../devices/pci/0000:00:05.0")

    def write(self, name: str, text: str) -> Path:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)
        return self.root / name

    def interrupt(self, irq: int, allowed: str, effective: str, node: int = 0, mode: int = 0o644) -> None:
        self.write(f"proc/irq/{irq}/smp_affinity_list", f"{allowed}\n").chmod(mode)
        self.write(f"proc/irq/{irq}/effective_affinity_list", f"{effective}\n")
        self.write(f"proc/irq/{irq}/node", f"{node}\n")

    @property
    def host(self) -> Host:
        host = Host(self.root)
        object.__setattr__(host, "is_live", True)
        return host

    def plan(self, core: int) -> Part:
        return plan_move_interrupts(self.host, str(core))


def moves(part: Part) -> dict[str, str]:
    return {step.target.split()[0]: step.value for step in part.steps if step.action == "set-affinity"}


def test_interrupts_go_to_the_cores_with_the_fewest_queues_and_then_the_lowest_number(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0, 0, 0, 1))
    assert moves(machine.plan(0)) == {"30": "2", "31": "3", "32": "1"}
    assert moves(machine.plan(1)) == {"33": "2"}
    assert machine.plan(0) == machine.plan(0)
    assert machine.plan(0).steps[0].undo == "echo 0-3 >/proc/irq/30/smp_affinity_list"


def test_they_stay_on_the_node_of_the_device_where_it_has_another_core(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0, 1, 1), nodes=2)
    assert moves(machine.plan(0)) == {"30": "1"}
    machine.write("sys/devices/system/node/node0/cpulist", "0\n")
    assert moves(machine.plan(0)) == {"30": "2"}
    machine.interrupt(30, "0-3", "0", node=-1)
    assert moves(machine.plan(0)) == {"30": "2"}


@pytest.mark.parametrize("name", ["isolated", "nohz_full"])
def test_never_to_a_core_that_is_kept_free(tmp_path: Path, name: str) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0, 3))
    machine.write(f"sys/devices/system/cpu/{name}", "1-2\n")
    assert moves(machine.plan(0)) == {"30": "3"}
    machine.write(f"sys/devices/system/cpu/{name}", "1-3\n")
    with pytest.raises(RefusedError, match="no other core that is not kept free"):
        machine.plan(0)


def test_an_interrupt_that_was_sent_away_and_has_not_fired_since_is_not_moved_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0,))
    machine.interrupt(30, allowed="2", effective="0")
    part = machine.plan(0)
    assert part.steps == ()
    assert part.seen == ("no interrupt of a network queue fires on core 0: there is nothing to move",)


def test_managed_interrupts_stay_and_this_is_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0, 0))
    machine.interrupt(30, "0-3", "0", mode=0o444)
    part = machine.plan(0)
    assert moves(part) == {"31": "1"}
    assert "interrupt 30 eth0-Tx-Rx-0 stays on core 0" in part.warnings[0]


def test_masks_that_lead_work_to_the_core_are_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(1, 2))
    machine.write("sys/class/net/eth0/queues/rx-1/rps_cpus", "2\n")
    machine.write("sys/class/net/eth0/queues/tx-0/xps_cpus", "2\n")
    rps, xps = machine.plan(1).warnings
    assert "packets of eth0 rx-1 to core 1" in rps
    assert "core 1 send through eth0 queue 0" in xps


def test_a_changed_machine_is_another_plan(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0, 1))
    before = machine.plan(0)
    machine.interrupt(30, "0-1", "0")
    assert machine.plan(0).assumptions != before.assumptions


def test_what_cannot_be_planned_says_why(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=1, served_by=(0,))
    with pytest.raises(RefusedError, match="there is no other core"):
        machine.plan(0)
    with pytest.raises(UsageError, match="core 7 is not online"):
        machine.plan(7)
    for subject in ("eth0", "", "-1", "9" * 5000):
        with pytest.raises(UsageError):
            plan_move_interrupts(machine.host, subject)
    with pytest.raises(CannotLookError, match="an offline image"):
        plan_move_interrupts(Host(tmp_path), "0")


def test_an_irqbalance_without_a_unit_is_left_to_people(tmp_path: Path) -> None:
    machine = Machine(tmp_path, cores=4, served_by=(0, 1))
    assert "irqbalance" in {one.name for one in machine.plan(0).assumptions}
    machine.write("proc/77/comm", "irqbalance\n")
    part = machine.plan(0)
    assert [step.action for step in part.steps] == ["set-affinity"]
    (advice,) = part.by_hand
    assert "--banirq=30 --banirq=31" in advice.commands[0]
