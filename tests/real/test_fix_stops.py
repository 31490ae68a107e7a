"""What a stop sets off on a real systemd: named in the plan, refused where it must be, and taken back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.errors import RefusedError
from necroscope.model.plan import Plan
from necroscope.model.remedy_ids import DISABLE_UNIT
from necroscope.sources.host import Host
from tests.real.carry_out import carry_out, listing, plan_for, take_back, unit_states

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SLEEP = "[Service]\nExecStart=/bin/sleep infinity\n"
INSTALL = "[Install]\nWantedBy=multi-user.target\n"
UNITS = {
    "user-of-runtime.service": f"[Unit]\nRequires=containerd.service\n{SLEEP}{INSTALL}",
    "containerd.service": f"[Unit]\nStopWhenUnneeded=yes\n{SLEEP}",
    "one-of-two.service": f"[Unit]\nWants=shared.service\n{SLEEP}{INSTALL}",
    "two-of-two.service": f"[Unit]\nWants=shared.service\n{SLEEP}{INSTALL}",
    "shared.service": f"[Unit]\nStopWhenUnneeded=yes\n{SLEEP}",
    "ends-all.service": f"[Unit]\nSuccessAction=exit-force\n{SLEEP}{INSTALL}",
    "followed.service": f"[Unit]\nOnSuccess=aftermath.service\n{SLEEP}{INSTALL}",
    "aftermath.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n",
    "only-once.service": f"[Unit]\nRefuseManualStart=yes\n{SLEEP}{INSTALL}",
    "never-stopped.service": f"[Unit]\nRefuseManualStop=yes\n{SLEEP}{INSTALL}",
    "upholder.service": f"[Unit]\nUpholds=upheld.service\n{SLEEP}{INSTALL}",
    "upheld.service": "[Service]\nExecStart=/bin/sleep infinity\n"
    "ExecStop=/bin/sh -c 'echo stopped >>/run/upheld'\n",
    "wanter.service": f"[Unit]\nWants=idle-helper.service\n{SLEEP}{INSTALL}",
    "idle-helper.service": SLEEP,
    "has-run.service": f"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n{INSTALL}",
    "srv-x.mount": f"[Mount]\nWhat=tmpfs\nWhere=/srv/x\nType=tmpfs\n{INSTALL}",
    "by-script.service": f"[Service]\nExecStart=/opt/bin/start-it.sh\n{INSTALL}",
    "by-link.service": f"[Service]\nExecStart=/opt/bin/innocent infinity\n{INSTALL}",
    "by-variable.service": "[Service]\nEnvironment=BIN=/opt/bin/kubelet\n"
    f"ExecStart=/bin/sh -c 'exec $BIN infinity'\n{INSTALL}",
}
VENDOR = "usr/lib/systemd/system"


def install(machine: Container) -> None:
    """Put in what is no unit of /etc, and start what waits for it."""
    programs = machine.root / "opt/bin"
    programs.mkdir(parents=True)
    shutil.copy("/bin/sleep", programs / "kubelet")
    (programs / "innocent").symlink_to("kubelet")
    (programs / "start-it.sh").write_text("#!/bin/sh\nexec /opt/bin/kubelet infinity\n")
    (programs / "start-it.sh").chmod(0o755)
    for name in ("node@", "masked-for-now", "masked-later", "gone-later"):
        command = "/opt/bin/kubelet infinity" if name == "node@" else "/bin/sleep infinity"
        (machine.root / VENDOR / f"{name}.service").write_text(f"[Service]\nExecStart={command}\n{INSTALL}")
    wants = machine.root / "etc/systemd/system/multi-user.target.wants"
    (wants / "masked-for-now.service").symlink_to("/usr/lib/systemd/system/masked-for-now.service")
    os.lchown(wants / "wanter.service", 1234, 1235)
    machine.run(["systemctl", "daemon-reload"])
    by = ("by-script", "by-link", "by-variable", "node@a")
    machine.run(["systemctl", "start", *by, "masked-for-now", "masked-later", "gone-later"])
    machine.run(["systemctl", "mask", "--runtime", "masked-for-now"])
    machine.run(["systemctl", "mask", "masked-later"])
    machine.run(["systemctl", "stop", "idle-helper.service"])


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    enabled = tuple(name for name, text in UNITS.items() if INSTALL in text)
    with Container(units=UNITS, enable=enabled) as container:
        install(container)
        yield container


@pytest.fixture
def unchanged(machine: Container) -> Iterator[None]:
    """The machine has to be as before once the test is over."""
    files, units = listing(machine.root), unit_states(machine)
    yield
    assert listing(machine.root) == files
    assert unit_states(machine) == units


def is_active(machine: Container, unit: str) -> bool:
    return machine.run(["systemctl", "is-active", unit]).stdout.strip() == "active"


def disabled(machine: Container, subject: str) -> tuple[Host, Plan]:
    host = Host(machine.root)
    return host, plan_for(host, DISABLE_UNIT, subject)


@pytest.mark.usefixtures("unchanged")
def test_what_runs_only_for_the_unit_is_stopped_along_named_and_started_again(machine: Container) -> None:
    host, plan = disabled(machine, "user-of-runtime")
    assert "containerd.service is stopped along with user-of-runtime.service" in plan.warnings
    assert any(line.startswith("containerd.service: ") for line in plan.vital)
    before = carry_out(host, plan)
    assert not is_active(machine, "containerd.service")
    take_back(host, plan, before)


def test_what_another_unit_still_needs_is_not_said_to_stop(machine: Container) -> None:
    assert disabled(machine, "one-of-two")[1].warnings == ()


def test_an_action_on_the_whole_machine_is_as_vital_as_can_be(machine: Container) -> None:
    (line,) = disabled(machine, "ends-all")[1].vital
    assert line.startswith("ends-all.service: its SuccessAction=exit-force")


@pytest.mark.usefixtures("unchanged")
def test_a_unit_that_the_stop_starts_is_stopped_by_the_undo(machine: Container) -> None:
    host, plan = disabled(machine, "followed")
    assert any("aftermath.service is started once it has stopped" in line for line in plan.warnings)
    before = carry_out(host, plan)
    assert is_active(machine, "aftermath.service")
    take_back(host, plan, before)
    assert not is_active(machine, "aftermath.service")


@pytest.mark.usefixtures("unchanged")
def test_a_unit_that_the_undo_would_pull_in_stays_off(machine: Container) -> None:
    host, plan = disabled(machine, "wanter")
    take_back(host, plan, carry_out(host, plan))
    assert not is_active(machine, "idle-helper.service")
    link = machine.root / "etc/systemd/system/multi-user.target.wants/wanter.service"
    assert (link.lstat().st_uid, link.lstat().st_gid) == (1234, 1235)


@pytest.mark.usefixtures("unchanged")
def test_a_unit_that_another_upholds_is_off_until_the_undo(machine: Container) -> None:
    host, plan = disabled(machine, "upheld")
    assert [step.action for step in plan.steps] == ["restart-unit", "write-file", "stop-unit"]
    assert is_active(machine, "upheld.service")
    before = carry_out(host, plan)
    assert not is_active(machine, "upheld.service")
    assert is_active(machine, "upholder.service")
    assert (machine.root / "run/upheld").read_text() == "stopped\n"
    take_back(host, plan, before)
    assert is_active(machine, "upheld.service")


def test_a_unit_that_may_not_be_stopped_is_refused_while_planning(machine: Container) -> None:
    with pytest.raises(RefusedError, match="RefuseManualStop="):
        disabled(machine, "never-stopped")


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        ("only-once.service", "RefuseManualStart="),
        ("masked-later.service", "it is masked"),
        ("gone-later.service", "its file is gone"),
        ("made.service", "forgets it"),
        ("made.scope", "forgets it"),
    ],
)
def test_an_undo_that_cannot_start_it_again_says_so_before(machine: Container, unit: str, why: str) -> None:
    if unit == "gone-later.service":
        (machine.root / VENDOR / unit).unlink()
    if unit == "made.service":
        machine.run(["systemd-run", f"--unit={unit}", "/bin/sleep", "infinity"])
    if unit == "made.scope":
        machine.run(["sh", "-c", "systemd-run --scope --unit=made sleep 1000 >/dev/null 2>&1 &"])
        machine.run(["sh", "-c", "until systemctl is-active made.scope; do sleep 0.1; done"])
    host, plan = disabled(machine, unit)
    assert any(line.startswith(f"{unit} cannot be started again") and why in line for line in plan.warnings)
    assert "cannot be started again" in plan.steps[0].undo
    assert "systemctl start" not in plan.steps[0].undo
    take_back(host, plan, carry_out(host, plan))
    assert not is_active(machine, unit)


@pytest.mark.usefixtures("unchanged")
def test_a_mask_that_ends_with_the_boot_does_not_count(machine: Container) -> None:
    host, plan = disabled(machine, "masked-for-now")
    assert [step.action for step in plan.steps] == ["stop-unit", "remove-links", "make-link"]
    assert "gone with the next boot" in plan.steps[-1].why
    assert any("cannot be started again" in line for line in plan.warnings)
    before = carry_out(host, plan)
    assert machine.run(["systemctl", "is-enabled", "masked-for-now"]).stdout == "masked\n"
    take_back(host, plan, before)
    machine.run(["systemctl", "unmask", "--runtime", "masked-for-now"])
    machine.run(["systemctl", "start", "masked-for-now"])
    machine.run(["systemctl", "mask", "--runtime", "masked-for-now"])


def test_who_has_run_and_what_lies_in_memory_is_warned_of(machine: Container) -> None:
    assert any("an undo runs it again" in line for line in disabled(machine, "has-run")[1].warnings)
    mount = disabled(machine, "srv-x.mount")[1]
    assert any("what lies in it is gone" in line for line in mount.warnings)
    assert any(line.startswith("srv-x.mount: it is mounted") for line in mount.vital)


@pytest.mark.parametrize("unit", ["by-script", "by-link", "by-variable", "node@a"])
def test_a_unit_is_vital_by_what_really_runs_in_it(machine: Container, unit: str) -> None:
    assert any("it runs kubelet" in line for line in disabled(machine, unit)[1].vital)


def test_an_instance_that_does_not_run_is_vital_by_its_template(machine: Container) -> None:
    (machine.root / "etc/systemd/system/x.target.wants").mkdir()
    link = machine.root / "etc/systemd/system/x.target.wants/node@b.service"
    link.symlink_to("/usr/lib/systemd/system/node@.service")
    assert any("it runs kubelet" in line for line in disabled(machine, "node@b")[1].vital)
    link.unlink()
    link.parent.rmdir()


@pytest.mark.usefixtures("unchanged")
def test_a_folder_of_links_that_is_a_link_itself_is_seen(machine: Container) -> None:
    etc = machine.root / "etc/systemd/system"
    (machine.root / "opt/wants").mkdir()
    (machine.root / "opt/wants/has-run.service").symlink_to("../has-run.service")
    (etc / "basic.target.wants").symlink_to("/opt/wants")
    host, plan = disabled(machine, "has-run")
    assert "basic.target.wants/has-run.service" in plan.steps[1].value
    before = carry_out(host, plan)
    assert not list((machine.root / "opt/wants").iterdir())
    take_back(host, plan, before)
    assert (machine.root / "opt/wants/has-run.service").is_symlink()
    (etc / "basic.target.wants").unlink()
    machine.run(["systemctl", "daemon-reload"])
