"""Which enabled services a failure keeps from starting, in a real systemd: those, and no other that rests."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.faults.bootstrap_steps import LOOKED_FOR, STEP, WRITES
from lab.machines.nspawn import Container, why_not
from necroscope.sources.held_back_units import HELD_BACK_UNITS, HeldBackUnit
from necroscope.sources.host import Host

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")


def service(unit: str = "", command: str = "sleep infinity", type_: str = "simple") -> str:
    return f"[Unit]\n{unit}\n[Service]\nType={type_}\nExecStart=/bin/sh -c '{command}'\n"


ASKED = f"PathExists={LOOKED_FOR}"
HELD_BACK = {
    "asserts.service": service(f"Assert{ASKED}"),
    "binds.service": service(f"BindsTo={STEP}\nAfter={STEP}"),
    "ecs.service": service(f"Condition{ASKED}"),
    "either.service": service(f"ConditionPathExists=|/dev/none\nCondition{ASKED.replace('=', '=|')}"),
    "follows.service": service("Requires=requires.service\nAfter=requires.service"),
    "requires.service": service(f"Requires={STEP}\nAfter={STEP}"),
    "requisite.service": service(f"Requisite={STEP}\nAfter={STEP}"),
    "waits-too.service": service(f"Condition{ASKED}\nRequires={STEP}\nAfter={STEP}"),
}
# A failure is tied to these, and it is not certain that they start when it is mended.
READS = "reads.service"
READ = "/etc/app/app.config"
MAYBE = {
    "virtual-after.service": service(f"ConditionVirtualization=!container\nRequires={STEP}\nAfter={STEP}"),
    "waits.service": service(f"ConditionPathExists={READ}"),
}
RESTING = {
    "disabled.service": service(f"Condition{ASKED}"),
    "done.service": service(f"After={STEP}", "true", "oneshot"),
    "hardware-after.service": service(f"ConditionPathExists=/dev/nvidia0\nRequires={STEP}\nAfter={STEP}"),
    "hardware.service": service(f"ConditionPathExists=/dev/nvidia0\nAfter={STEP}"),
    "masked.service": service(f"Requires={STEP}"),
    "other-file.service": service(f"ConditionPathExists=/etc/other/other.config\nAfter={STEP}"),
    "stopped.service": service(),
    "switched-off.service": service("ConditionPathExists=!/etc/hostname"),
    "unreached.service": service(f"Condition{ASKED}"),
    "virtual-assert.service": service(f"AssertVirtualization=!container\nRequires={STEP}\nBefore={STEP}"),
    "virtual-before.service": service(f"ConditionVirtualization=!container\nRequires={STEP}\nBefore={STEP}"),
    "virtual.service": service("ConditionVirtualization=!container"),
}
NOT_ENABLED = ("disabled.service", "unreached.service")


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    reads = service(command=f"cat {READ}", type_="oneshot")
    units = {STEP: WRITES, READS: reads, **HELD_BACK, **MAYBE, **RESTING}
    enabled = tuple(name for name in units if name not in NOT_ENABLED)
    wanted = {"graphical.target.wants/unreached.service": units["unreached.service"]}
    with Container(units={**units, **wanted}, enable=enabled, binds=(CHECKOUT,)) as container:
        container.run(["systemctl", "is-system-running", "--wait"])
        container.run(["systemctl", "stop", "stopped.service"])
        container.run(["systemctl", "mask", "--runtime", "masked.service"])
        container.run(["systemctl", "daemon-reload"])
        yield container


def held_back(machine: Container) -> dict[str, HeldBackUnit]:
    return {one.name: one for one in HELD_BACK_UNITS.open(Host(machine.root))().value or ()}


def test_those_that_a_failure_holds_back_and_no_other(machine: Container) -> None:
    found = held_back(machine)
    assert found.keys() == HELD_BACK.keys() | MAYBE.keys()
    assert {one.name for one in found.values() if one.is_only_reason} == HELD_BACK.keys()
    assert {(one.failed, one.result, one.exit_status) for one in found.values()} == {
        (STEP, "exit-code", 1),
        (READS, "exit-code", 1),
    }
    assert [one.name for one in found.values() if one.failed == READS] == ["waits.service"]
    assert found["ecs.service"].condition == f"ConditionPathExists={LOOKED_FOR}"
    assert found["ecs.service"].path == LOOKED_FOR
    assert found["follows.service"].needs == "requires.service"


def test_it_costs_little(machine: Container) -> None:
    done = machine.run([str(PROGRAM), "doctor", "--json", "-d", "1s"])
    body = json.loads(done.stdout)
    (cost,) = [row for row in body["sources"] if row["id"] == HELD_BACK_UNITS.id]
    assert cost["slowest_seconds"] < 0.5
    assert "unit-held-back" in {finding["id"] for finding in body["findings"]}


def test_what_the_step_was_to_make_starts_the_service(machine: Container) -> None:
    """What is claimed of it: mend the step, and it starts."""
    machine.run(["touch", "/etc/systemd/system/step-works"])
    assert machine.run(["systemctl", "start", STEP]).returncode == 0
    assert machine.run(["systemctl", "start", "multi-user.target"]).returncode == 0
    machine.run(["systemctl", "start", *HELD_BACK])
    assert machine.run(["systemctl", "is-active", *HELD_BACK]).returncode == 0
    assert held_back(machine).keys() == {"waits.service"}
