"""The interrupts of this machine's own network device are moved and put back, irqbalance or not."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.faults import zombies
from lab.faults.crash_loops import PYTHON
from lab.machines import nspawn
from necroscope.errors import ChangeError
from necroscope.model.plan import Step
from necroscope.remedies.actions.set_affinity import SET_AFFINITY
from necroscope.remedies.plan.irqbalance import DROP_IN, UNIT
from necroscope.remedies.plan.move_interrupts import plan_move_interrupts
from necroscope.sources.host import Host
from necroscope.sources.interrupt_affinity import read_interrupt_affinity, read_online_cores
from necroscope.sources.nic_queues import NicQueue, open_nic_queues

IRQS = Path("/proc/irq")
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")
# The package's own has ConditionVirtualization=!container. One second, so that nobody has to wait for ten.
REAL = {UNIT: "[Service]\nExecStart=/usr/sbin/irqbalance --foreground --interval=1\n"}
# One that puts every interrupt back that it was not told to leave alone, whatever the load is.
STAND_IN = {
    UNIT: f"[Service]\nExecStart={PYTHON} -IS /etc/systemd/system/irqbalance.py --interval=1\n",
    "irqbalance.py": """
import pathlib, sys, time
pathlib.Path("/proc/self/comm").write_text("irqbalance")
while True:
    for place in pathlib.Path("/proc/irq").glob("[0-9]*/smp_affinity_list"):
        if place.stat().st_mode & 0o200 and f"--banirq={place.parent.name}" not in sys.argv:
            place.write_text(pathlib.Path("/sys/devices/system/cpu/online").read_text())
    time.sleep(0.2)
""",
}
BALANCERS = [
    pytest.param(STAND_IN, id="stand-in"),
    pytest.param(
        REAL,
        id="real",
        marks=pytest.mark.skipif(
            shutil.which("irqbalance") is None, reason="irqbalance is missing: apt-get install irqbalance"
        ),
    ),
]


def movable() -> list[NicQueue]:
    """Queues whose interrupts somebody may move, here and now."""
    host = Host()
    affinities = {queue: read_interrupt_affinity(host, queue.irq).value for queue in _queues(host)}
    return [queue for queue, affinity in affinities.items() if affinity and affinity.is_writable]


def _queues(host: Host) -> tuple[NicQueue, ...]:
    return open_nic_queues(host)().value or ()


def why_not() -> str | None:
    if os.geteuid() != 0:
        return "needs root"
    if len(read_online_cores(Host()).value or ()) < 2:
        return "needs two cores"
    return None if movable() else "no network device here has an interrupt that can be moved"


def why_no_container() -> str | None:
    return nspawn.why_not() or zombies.why_not()  # v1, for a container that is a whole machine


pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def allowed() -> dict[str, str]:
    """Where every interrupt of this machine may fire."""
    return {place.parent.name: place.read_text() for place in IRQS.glob("*/smp_affinity_list")}


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    """irqbalance moves more than the test is about."""
    before = allowed()
    yield
    for irq, cores in before.items():
        place = IRQS / irq / "smp_affinity_list"
        if place.read_text() != cores:
            place.write_text(cores)
    assert allowed() == before


def eventually(condition: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_they_are_moved_off_the_core_and_put_back_exactly() -> None:
    host = Host()
    queue = movable()[0]
    before = allowed()
    part = plan_move_interrupts(host, str(queue.cores[0]))
    steps = [step for step in part.steps if step.action == "set-affinity"]
    assert f"{queue.irq} {queue.irq_name}" in {step.target for step in steps}
    states = [SET_AFFINITY.look(host, step) for step in steps]
    for step in steps:
        assert SET_AFFINITY.check(host, step)
        assert SET_AFFINITY.do(host, step) and SET_AFFINITY.do(host, step)
        assert SET_AFFINITY.check(host, step) == ""
    assert plan_move_interrupts(host, str(queue.cores[0])).steps == ()
    moved = {irq for irq, cores in allowed().items() if cores != before[irq]}
    assert moved == {step.target.split()[0] for step in steps}
    for step, state in zip(steps, states, strict=True):
        assert SET_AFFINITY.check_undone(host, step, state)
        SET_AFFINITY.undo(host, step, state)
        assert SET_AFFINITY.check_undone(host, step, state) == ""
    assert allowed() == before


def test_a_number_that_belongs_to_another_device_by_now_is_not_touched() -> None:
    before = allowed()
    step = Step("set-affinity", f"{movable()[0].irq} eth9-Tx-Rx-0", "0", "", "", "", "", "")
    with pytest.raises(ChangeError, match="there is no interrupt"):
        SET_AFFINITY.do(Host(), step)
    assert allowed() == before


def test_the_kernel_says_no_to_a_managed_interrupt() -> None:
    interrupts = [place for place in IRQS.glob("*/smp_affinity_list") if not place.stat().st_mode & 0o200]
    names = {
        place: [folder.name for folder in place.parent.iterdir() if folder.is_dir()] for place in interrupts
    }
    named = [(place.parent.name, folders[0]) for place, folders in names.items() if len(folders) == 1]
    if not named:
        pytest.skip("this kernel manages no interrupt here, or does not tell")
    step = Step("set-affinity", " ".join(named[0]), "0", "", "", "", "", "")
    with pytest.raises(ChangeError, match="manages it itself"):
        SET_AFFINITY.do(Host(), step)


def options_of_irqbalance(machine: nspawn.Container) -> str:
    found = machine.run(["sh", "-c", "tr '\\0' ' ' </proc/$(pgrep -x irqbalance)/cmdline"])
    return found.stdout


@pytest.mark.skipif(why_no_container() is not None, reason=str(why_no_container()))
@pytest.mark.parametrize("balancer", BALANCERS)
def test_irqbalance_leaves_them_alone_until_it_is_taken_back(
    tmp_path: Path, balancer: dict[str, str]
) -> None:
    irqs = {str(queue.irq) for queue in movable()}

    def lists() -> dict[str, str]:
        return {irq: cores for irq, cores in allowed().items() if irq in irqs}

    with nspawn.Container(
        units=balancer,
        enable=(UNIT,),
        private_network=False,
        whole_machine=True,
        binds=(CHECKOUT, tmp_path),
    ) as machine:

        def fix(*words: str) -> dict[str, Any]:
            command = [str(PROGRAM), "fix", *words, "--store", str(tmp_path), "--json"]
            done = machine.run(command, timeout_seconds=120)
            assert done.returncode == 0, done.stdout + done.stderr
            body: dict[str, Any] = json.loads(done.stdout)
            return body

        drop_in = machine.root / DROP_IN.lstrip("/")
        assert eventually(lambda: machine.run(["pgrep", "-x", "irqbalance"]).returncode == 0)
        before = lists()
        core = str(movable()[0].cores[0])
        fixed = fix("move-interrupts", core, "--apply", "-d", "1s", "--baseline", "0s")
        assert drop_in.exists()
        assert all(f"--banirq={irq}" in options_of_irqbalance(machine) for irq in irqs)
        moved = lists()
        assert moved != before
        time.sleep(3)  # some of its rounds
        assert lists() == moved
        fix("--undo", fixed["fix"]["id"])
        assert not drop_in.exists()
        assert options_of_irqbalance(machine).split()[-1] == "--interval=1"
        if balancer is STAND_IN:  # the real one decides by the load
            for irq, cores in moved.items():
                (IRQS / irq / "smp_affinity_list").write_text(cores)
            assert eventually(lambda: lists() != moved), "it would have put them back"
