"""A unit is restarted so that it has the settings of its files, when done and when undone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.errors import ChangeError
from necroscope.model.plan import Step
from necroscope.remedies.actions.restart_unit import RESTART_UNIT, WHEN_DONE, WHEN_UNDONE
from necroscope.sources.host import Host

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
UNIT = "sleeper.service"
BROKEN = "broken.service"
DROP_IN = f"run/systemd/system/{UNIT}.d/50-test.conf"
UNITS = {
    UNIT: "[Service]\nExecStart=/bin/sleep infinity\n",
    BROKEN: "[Service]\nType=exec\nExecStart=/nowhere/to/be/found\n",
}


@pytest.fixture
def machine() -> Iterator[Container]:
    with Container(units=UNITS, enable=(UNIT,)) as container:
        yield container


def step(when: str, unit: str = UNIT) -> Step:
    return Step("restart-unit", unit, when, "", "", "", "", "")


def process(machine: Container) -> str:
    return systemctl(machine, "show", "--property=MainPID", "--value", UNIT).stdout


def systemctl(machine: Container, *words: str) -> subprocess.CompletedProcess[str]:
    return machine.run(["systemctl", *words])


def write_drop_in(machine: Container, value: str) -> None:
    (machine.root / DROP_IN).parent.mkdir(parents=True, exist_ok=True)
    (machine.root / DROP_IN).write_text(f"[Service]\nEnvironment=A={value}\n")


def test_what_runs_without_its_new_settings_is_amiss_until_it_is_restarted(machine: Container) -> None:
    host = Host(machine.root)
    assert RESTART_UNIT.look(host, step(WHEN_DONE)) == {"state": "active"}
    assert RESTART_UNIT.check(host, step(WHEN_DONE)) == ""
    before = process(machine)
    write_drop_in(machine, "b")
    systemctl(machine, "daemon-reload")
    assert "was started before" in RESTART_UNIT.check(host, step(WHEN_DONE))
    write_drop_in(machine, "c")
    assert "has not loaded" in RESTART_UNIT.check(host, step(WHEN_DONE))
    RESTART_UNIT.do(host, step(WHEN_DONE))
    assert RESTART_UNIT.check(host, step(WHEN_DONE)) == ""
    assert process(machine) != before
    environment = systemctl(machine, "show", "--property=Environment", "--value", UNIT).stdout
    assert environment == "A=c\n"


def test_each_kind_restarts_in_one_direction_only(machine: Container) -> None:
    host = Host(machine.root)
    before = process(machine)
    RESTART_UNIT.do(host, step(WHEN_UNDONE))
    RESTART_UNIT.undo(host, step(WHEN_DONE), {"state": "active"})
    RESTART_UNIT.undo(host, step(WHEN_UNDONE), {"state": "inactive"})
    assert process(machine) == before
    RESTART_UNIT.undo(host, step(WHEN_UNDONE), {"state": "active"})
    assert RESTART_UNIT.check_undone(host, step(WHEN_UNDONE), {"state": "active"}) == ""
    assert process(machine) != before


def test_a_unit_that_does_not_start_again_is_said_to_be_so(machine: Container) -> None:
    host = Host(machine.root)
    RESTART_UNIT.do(host, step(WHEN_DONE, BROKEN))
    assert RESTART_UNIT.check(host, step(WHEN_DONE, BROKEN)) == f"{BROKEN} is failed"
    with pytest.raises(ChangeError, match="systemd"):
        RESTART_UNIT.do(host, step(WHEN_DONE, "no such unit"))
