"""Units of a real systemd, disabled and brought back exactly as they were."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.errors import ChangeError, UsageError
from necroscope.model.plan import Plan
from necroscope.model.remedy_ids import DISABLE_UNIT, LIMIT_CRASH_LOOP
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.sources.host import Host
from tests.real.carry_out import carry_out, listing, plan_for, take_back, unit_states

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

CHECKOUT = Path(__file__).parents[2]
SLEEP = "[Service]\nExecStart=/bin/sleep infinity\n"
INSTALL = "[Install]\nWantedBy=multi-user.target\n"
LOOP = "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=200ms\n"
UNITS = {
    "loop.service": f"[Unit]\nStartLimitIntervalSec=0\n{LOOP}{INSTALL}",
    "graceful.service": "[Service]\nExecStart=/bin/sleep infinity\n"
    f"ExecStop=/bin/sh -c 'echo stopped >>/run/graceful'\n{INSTALL}",
    "always.path": "[Path]\nPathExists=/etc\n[Install]\nWantedBy=paths.target\n",
    "always.service": SLEEP,
    "here.timer": "[Timer]\nOnActiveSec=1h\n[Install]\nWantedBy=timers.target\n",
    "here.service": f"{SLEEP}{INSTALL}",
    "base.service": f"{SLEEP}{INSTALL}",
    "guest.service": f"[Unit]\nRequires=base.service\nAfter=base.service\n{SLEEP}{INSTALL}",
    "part.service": f"[Unit]\nPartOf=base.service\n{SLEEP}{INSTALL}",
    "kubelet-guest.service": f"[Unit]\nRequires=ground.service\nAfter=ground.service\n{SLEEP}{INSTALL}",
    "ground.service": f"{SLEEP}{INSTALL}",
    "node-agent.service": f"[Service]\nExecStart=/usr/local/bin/kubelet --x\n{INSTALL}",
    "stubborn.service": "[Service]\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n"
    f"TimeoutStopSec=1s\n{INSTALL}",
}
# Those of a package, in /usr/lib/systemd/system.
VENDOR = {
    "called.socket": "[Socket]\nListenStream=/run/called.sock\n[Install]\nWantedBy=sockets.target\n",
    "called.service": f"{SLEEP}[Install]\nAlso=called.socket\nWantedBy=multi-user.target\n",
    "ticked.timer": "[Timer]\nOnActiveSec=1s\nOnUnitInactiveSec=3s\nUnit=loop-ticked.service\n"
    "[Install]\nWantedBy=timers.target\n",
    "loop-ticked.service": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo x >>/run/ticked'\n",
    "wanted-static.service": SLEEP,
    "many@.service": f"{SLEEP}{INSTALL}",
    "real.service": f"{SLEEP}[Install]\nAlias=other.service\nWantedBy=multi-user.target\n",
}
LINKED = "/opt/linked.service"
LINKS = {
    "/usr/lib/systemd/system/multi-user.target.wants/wanted-static.service": "../wanted-static.service",
    "/etc/systemd/system/other.service": "/usr/lib/systemd/system/real.service",
    "/etc/systemd/system/linked.service": LINKED,
    "/etc/systemd/system/multi-user.target.wants/linked.service": LINKED,
    "/run/systemd/system/multi-user.target.wants/many@two.service": "/usr/lib/systemd/system/many@.service",
    **{
        f"/etc/systemd/system/{owner}.target.wants/{name}": f"/usr/lib/systemd/system/{file}"
        for owner, name, file in (
            ("sockets", "called.socket", "called.socket"),
            ("multi-user", "called.service", "called.service"),
            ("timers", "ticked.timer", "ticked.timer"),
            ("multi-user", "many@one.service", "many@.service"),
            ("multi-user", "real.service", "real.service"),
        )
    },
}


def install(machine: Container) -> None:
    """Put the vendor's files in, and start what is enabled."""
    files = {f"/usr/lib/systemd/system/{name}": text for name, text in VENDOR.items()} | {
        LINKED: SLEEP + INSTALL
    }
    for name, text in files.items():
        path = machine.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for link, target in LINKS.items():
        path = machine.root / link.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    machine.run(["systemctl", "daemon-reload"])
    names = "called.socket ticked.timer wanted-static many@one many@two real linked called"
    machine.run(["systemctl", "start", *names.split()])


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    enabled = tuple(name for name in UNITS if name != "always.service")
    with Container(units=UNITS, enable=enabled, binds=(CHECKOUT,)) as container:
        install(container)
        yield container


@pytest.fixture
def unchanged(machine: Container) -> Iterator[None]:
    """The machine has to be as before once the test is over."""
    files, units = listing(machine.root), unit_states(machine)
    yield
    assert listing(machine.root) == files
    eventually(lambda: unit_states(machine) == units)


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds, and fail where it does not in half a minute."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.1)


def show(machine: Container, unit: str, key: str) -> str:
    return machine.run(["systemctl", "show", "--value", "--property", key, unit]).stdout.strip()


def actions(plan: Plan) -> list[str]:
    return [step.action for step in plan.steps]


def disabled(machine: Container, subject: str) -> tuple[Host, Plan]:
    host = Host(machine.root)
    return host, plan_for(host, DISABLE_UNIT, subject)


def check_off_and_back(machine: Container, subject: str, unit: str, steps: list[str], state: str) -> Plan:
    """Disable a unit and bring it back; afterwards it neither runs nor can be started by accident."""
    host, plan = disabled(machine, subject)
    assert actions(plan) == steps
    before = carry_out(host, plan)
    assert show(machine, unit, "ActiveState") == "inactive"
    assert machine.run(["systemctl", "is-enabled", unit]).stdout.strip() == state
    take_back(host, plan, before)
    return plan


@pytest.mark.usefixtures("unchanged")
def test_a_crash_loop_is_stopped_and_disabled_and_loops_again_after_the_undo(machine: Container) -> None:
    check_off_and_back(machine, "loop", "loop.service", ["stop-unit", "remove-links"], "disabled")
    restarts = int(show(machine, "loop.service", "NRestarts"))
    eventually(lambda: int(show(machine, "loop.service", "NRestarts")) > restarts)


@pytest.mark.usefixtures("unchanged")
def test_a_stop_is_graceful(machine: Container) -> None:
    host, plan = disabled(machine, "graceful.service")
    before = carry_out(host, plan)
    assert (machine.root / "run/graceful").read_text() == "stopped\n"
    take_back(host, plan, before)


@pytest.mark.usefixtures("unchanged")
def test_who_ignores_the_signal_is_ended_by_systemd_in_its_own_time(machine: Container) -> None:
    host, plan = disabled(machine, "stubborn")
    before = carry_out(host, plan)
    assert show(machine, "stubborn.service", "Result") == "timeout"
    take_back(host, plan, before)
    machine.run(["systemctl", "reset-failed", "stubborn.service"])


@pytest.mark.usefixtures("unchanged")
def test_a_socket_does_not_bring_its_service_back(machine: Container) -> None:
    host, plan = disabled(machine, "called.service")
    assert actions(plan) == ["stop-unit", "remove-links", "make-link"]
    assert "called.socket triggers it" in plan.steps[-1].why
    assert any("called.socket" in warning and "Also=" in warning for warning in plan.warnings)
    before = carry_out(host, plan)
    assert (machine.root / "etc/systemd/system/sockets.target.wants/called.socket").is_symlink()
    assert show(machine, "called.socket", "ActiveState") == "inactive"
    assert machine.run(["systemctl", "start", "called.socket"]).returncode != 0  # as at the next boot
    with socket.socket(socket.AF_UNIX) as client, pytest.raises(ConnectionRefusedError):
        client.connect(str(machine.root / "run/called.sock"))
    assert show(machine, "called.service", "ActiveState") == "inactive"
    take_back(host, plan, before)
    assert show(machine, "called.socket", "ActiveState") == "active"


@pytest.mark.usefixtures("unchanged")
def test_a_timer_does_not_bring_its_service_back(machine: Container) -> None:
    ticks = machine.root / "run/ticked"
    eventually(ticks.exists)
    host, plan = disabled(machine, "loop-ticked")
    assert actions(plan) == ["stop-unit", "make-link"]
    before = carry_out(host, plan)
    seen = ticks.read_text()
    assert machine.run(["systemctl", "start", "ticked.timer"]).returncode != 0  # as at the next boot
    assert ticks.read_text() == seen
    take_back(host, plan, before)
    eventually(lambda: ticks.read_text() != seen)


@pytest.mark.usefixtures("unchanged")
def test_a_unit_in_etc_that_is_triggered_gets_a_condition_that_never_holds(machine: Container) -> None:
    host, plan = disabled(machine, "here")
    assert actions(plan) == ["stop-unit", "remove-links", "write-file"]
    before = carry_out(host, plan)
    machine.run(["systemctl", "start", "here.service"])
    assert show(machine, "here.service", "ActiveState") == "inactive"
    assert show(machine, "here.service", "ConditionResult") == "no"
    take_back(host, plan, before)


@pytest.mark.usefixtures("unchanged")
def test_a_path_that_would_start_it_at_once_is_stopped_first(machine: Container) -> None:
    host, plan = disabled(machine, "always")
    assert actions(plan) == ["stop-unit", "write-file"]
    assert plan.steps[0].value == "always.path always.service"
    before = carry_out(host, plan)
    take_back(host, plan, before)
    alone = replace(plan.steps[0], value="always.service")
    assert "on again: always.service" in ALL_ACTIONS["stop-unit"].do(host, alone)
    assert "on again: always.service" in ALL_ACTIONS["stop-unit"].check(host, alone)
    machine.run(["systemctl", "reset-failed", "always.service", "always.path"])
    machine.run(["systemctl", "start", "always.path"])


@pytest.mark.usefixtures("unchanged")
def test_a_static_unit_that_the_vendor_wants_is_masked(machine: Container) -> None:
    steps = ["stop-unit", "make-link"]
    plan = check_off_and_back(machine, "wanted-static", "wanted-static.service", steps, "masked")
    assert "multi-user.target.wants/wanted-static.service" in plan.steps[-1].why


@pytest.mark.usefixtures("unchanged")
def test_a_linked_unit_loses_its_link_as_with_systemctl_disable(machine: Container) -> None:
    host, plan = disabled(machine, "linked")
    assert actions(plan) == ["stop-unit", "remove-links"]
    before = carry_out(host, plan)
    assert not (machine.root / "etc/systemd/system/linked.service").is_symlink()
    assert (machine.root / LINKED.lstrip("/")).exists()
    assert machine.run(["systemctl", "start", "linked.service"]).returncode != 0
    take_back(host, plan, before)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("instance", ["one", "two"])
def test_one_instance_of_a_template_is_disabled_and_the_other_stays(
    machine: Container, instance: str
) -> None:
    host, plan = disabled(machine, f"many@{instance}")
    before = carry_out(host, plan)
    other = {"one": "two", "two": "one"}[instance]
    assert show(machine, f"many@{instance}.service", "ActiveState") == "inactive"
    assert show(machine, f"many@{other}.service", "ActiveState") == "active"
    take_back(host, plan, before)


@pytest.mark.usefixtures("unchanged")
def test_by_an_alias_the_unit_behind_it_is_disabled_with_all_its_names(machine: Container) -> None:
    host, plan = disabled(machine, "other")
    assert {step.target for step in plan.steps} == {"real.service"}
    before = carry_out(host, plan)
    assert not (machine.root / "etc/systemd/system/other.service").is_symlink()
    assert show(machine, "real.service", "ActiveState") == "inactive"
    take_back(host, plan, before)


@pytest.mark.usefixtures("unchanged")
def test_units_that_are_stopped_along_are_named_and_started_again(machine: Container) -> None:
    host, plan = disabled(machine, "base")
    assert {f"{name}.service is stopped along with base.service" for name in ("guest", "part")} <= set(
        plan.warnings
    )
    assert "guest.service names it in Requires=" in plan.steps[-1].why
    before = carry_out(host, plan)
    for name in ("base", "guest", "part"):
        assert show(machine, f"{name}.service", "ActiveState") == "inactive"
    take_back(host, plan, before)


def test_the_same_is_done_by_a_program_inside(machine: Container) -> None:
    files = listing(machine.root)
    script = (
        "import os; from tests.real.carry_out import *; host = Host();"
        "plan = plan_for(host, 'disable-unit', 'called'); before = carry_out(host, plan);"
        "print(os.readlink('/etc/systemd/system/called.service')); take_back(host, plan, before)"
    )
    done = machine.run(["env", f"--chdir={CHECKOUT}", sys.executable, "-c", script])
    assert done.stdout == "/dev/null\n", done.stderr
    assert listing(machine.root) == files
    assert show(machine, "called.service", "ActiveState") == "active"


def test_a_unit_is_vital_by_its_program_and_by_what_is_stopped_along(machine: Container) -> None:
    assert "it runs kubelet" in disabled(machine, "node-agent")[1].vital[0]
    assert disabled(machine, "ground")[1].vital[0].startswith("kubelet-guest.service: ")
    assert disabled(machine, "base")[1].vital == ()


def test_a_unit_that_is_not_there_and_a_template_are_refused(machine: Container) -> None:
    with pytest.raises(UsageError, match=r"no unit grateful.service") as error:
        disabled(machine, "grateful")
    assert "graceful.service" in error.value.hint
    with pytest.raises(UsageError, match="template") as error:
        disabled(machine, "many@.service")
    assert "many@one.service" in error.value.hint


def test_a_plan_is_another_one_after_a_change_of_the_unit(machine: Container) -> None:
    _, plan = disabled(machine, "graceful")
    machine.run(["systemctl", "stop", "graceful.service"])
    assert disabled(machine, "graceful")[1].assumptions != plan.assumptions
    machine.run(["systemctl", "start", "graceful.service"])
    assert disabled(machine, "graceful")[1].assumptions == plan.assumptions
    drop_in = machine.root / "etc/systemd/system/graceful.service.d/x.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Unit]\nDescription=x\n")
    assert disabled(machine, "graceful")[1].assumptions != plan.assumptions
    assert any(
        "graceful.service: its files have changed" in line for line in disabled(machine, "loop")[1].warnings
    )
    drop_in.unlink()
    drop_in.parent.rmdir()
    machine.run(["systemctl", "daemon-reload"])


def test_after_the_undo_of_nothing_there_is_nothing_to_do(machine: Container) -> None:
    host, plan = disabled(machine, "graceful")
    before = carry_out(host, plan)
    _, again = disabled(machine, "graceful")
    assert again.steps == ()
    assert "nothing to do" in again.seen[0]
    take_back(host, plan, before)


def test_a_limit_ends_a_crash_loop_and_its_undo_lets_it_loop_again(machine: Container) -> None:
    host = Host(machine.root)
    files = listing(machine.root)
    plan = plan_for(host, LIMIT_CRASH_LOOP, "loop")
    before = carry_out(host, plan)
    assert show(machine, "loop.service", "StartLimitBurst") == "5"
    assert show(machine, "loop.service", "StartLimitIntervalUSec") == "6min"
    eventually(lambda: show(machine, "loop.service", "ActiveState") == "failed")
    assert machine.run(["systemctl", "is-failed", "loop.service"]).returncode == 0
    assert plan_for(host, LIMIT_CRASH_LOOP, "loop").steps == ()
    take_back(host, plan, before)
    assert listing(machine.root) == files
    machine.run(["systemctl", "start", "loop.service"])
    restarts = int(show(machine, "loop.service", "NRestarts"))
    eventually(lambda: int(show(machine, "loop.service", "NRestarts")) > restarts + 6)


def test_what_somebody_else_has_changed_since_is_not_overwritten(machine: Container) -> None:
    host, plan = disabled(machine, "here")
    before = carry_out(host, plan)
    drop_in = machine.root / plan.steps[-1].target.lstrip("/")
    drop_in.write_text("[Unit]\nDescription=mine\n")
    with pytest.raises(ChangeError, match="somebody else"):
        ALL_ACTIONS["write-file"].undo(host, plan.steps[-1], before[-1])
    drop_in.write_text(plan.steps[-1].value)
    take_back(host, plan, before)
