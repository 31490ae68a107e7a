"""What a real systemd says about its units, against what `systemctl show` makes of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_details import UnitDetail, read_unit_details

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SLEEP = "[Service]\nExecStart=/bin/sleep infinity\n"
UNITS = {
    "plain.service": SLEEP,
    "guest.service": "[Unit]\nRequires=plain.service\nAfter=plain.service\n" + SLEEP,
    "bound.service": "[Unit]\nBindsTo=plain.service\nAfter=plain.service\n" + SLEEP,
    "loop.service": "[Unit]\nStartLimitIntervalSec=0\n"
    "[Service]\nExecStart=/bin/sh -c 'exit 5'\nRestart=always\nRestartSec=100ms\n",
    "given-up.service": "[Unit]\nStartLimitBurst=2\n"
    "[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=10ms\n",
    "unconfigured.service": "[Unit]\nConditionPathExists=/etc/ecs/ecs.config\n" + SLEEP,
    "either.service": "[Unit]\nConditionPathExists=|/nowhere\nConditionPathExists=|/etc\n" + SLEEP,
    "asserted.service": "[Unit]\nAssertPathExists=/nowhere\n" + SLEEP,
    "words.service": "[Service]\nType=oneshot\nEnvironment=A=1 'B=two words'\nEnvironmentFile=-/etc/none\n"
    "EnvironmentFile=/etc/hostname\nExecStart=-/bin/echo 'a b' $A \"\"\nExecStart=@/bin/true other-name\n",
    "words.service.d/more.conf": "[Service]\nEnvironment=C=3\n",
    "waits.socket": "[Socket]\nListenStream=/run/waits.sock\n",
    "waits.service": "[Service]\nExecStart=/bin/sleep infinity\n",
    "late.timer": "[Timer]\nOnBootSec=1h\n",
    "late.service": SLEEP,
    "rubbish.service": "[Service]\nType=simple\n",
    r"odd@a\x2db.service": SLEEP,
    "unwanted.service": SLEEP,
}
NOT_ENABLED = {"words.service.d/more.conf", "waits.service", "late.service", "unwanted.service"}
SHOWN = {
    "Description": "description",
    "LoadState": "load_state",
    "ActiveState": "active_state",
    "SubState": "sub_state",
    "Type": "type",
    "Result": "result",
    "ExecMainStatus": "exit_status",
    "NRestarts": "restarts",
    "ControlGroup": "control_group",
    "FragmentPath": "file",
}
QUOTE = '"'  # newer and older releases put names with a backslash between these
LISTS = {
    "RequiredBy RequisiteOf BoundBy": "needed_by",
    "WantedBy UpheldBy TriggeredBy": "wanted_by",
    "Requires Requisite BindsTo": "needs",
    "Wants": "wants",
    "After": "after",
    "DropInPaths": "drop_ins",
}


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(units=UNITS, enable=tuple(sorted(set(UNITS) - NOT_ENABLED))) as container:
        yield container


@pytest.fixture(scope="module")
def units(machine: Container) -> dict[str, UnitDetail]:
    """All units, at a moment when the one has given up and the other rests between two starts."""
    deadline = time.monotonic() + 30
    while True:
        reading = read_unit_details(Host(machine.root))
        assert reading.value is not None, reading.reason
        units = {unit.name: unit for unit in reading.value}
        loop, given_up = units["loop.service"], units["given-up.service"]
        # What systemd says of a unit is not said at one moment: it may begin the next start in between.
        rests = loop.sub_state.startswith("auto-restart") and loop.result != "success"
        rests = rests and (loop.restarts or 0) >= 2
        if (rests and given_up.active_state == "failed") or time.monotonic() > deadline:
            return units
        time.sleep(0.05)


def show(machine: Container, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """All that `systemctl show` says of each, by name."""
    said = machine.run(["systemctl", "show", "--", *names]).stdout
    blocks = [dict(_pair(line) for line in block.splitlines()) for block in said.split("\n\n")]
    return {block["Id"]: block for block in blocks}


def _pair(line: str) -> tuple[str, str]:
    key, _, value = line.partition("=")
    return key, value


def test_every_unit_is_as_systemctl_shows_it(machine: Container, units: dict[str, UnitDetail]) -> None:
    still = [name for name in units if name != "loop.service"]  # that one has changed since
    assert len(still) > 50
    for name, shown in show(machine, still).items():
        unit = units[name]
        for key, field in SHOWN.items():
            if key in shown and not (key == "Type" and name.endswith(".mount")):
                assert shown[key] == str(getattr(unit, field)), (name, key)
        for keys, field in LISTS.items():
            words = " ".join(shown.get(key, "") for key in keys.split()).split()
            expected = {word.strip(QUOTE).replace("\\\\", "\\") for word in words}
            assert expected == set(getattr(unit, field)), (name, keys)
        assert (unit.main_pid or 0) == int(shown.get("MainPID", 0)), name
        if unit.memory_bytes is None:
            assert name.endswith((".target", ".timer", ".path", ".mount", ".socket", ".automount")) or (
                shown["MemoryCurrent"] == "[not set]"
            )
        if unit.cpu_ns is None:
            assert shown.get("CPUUsageNSec", "[not set]") == "[not set]", name


def test_no_unit_is_missed(machine: Container, units: dict[str, UnitDetail]) -> None:
    listed = machine.run(
        ["systemctl", "list-units", "--all", "--plain", "--no-legend", "--type=service,socket,timer,path"]
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    expected = {row[0] for row in rows if row[1] != "not-found"}
    others = {name for name in units if name.endswith((".mount", ".target", ".automount", ".swap"))}
    assert expected == set(units) - others
    assert "multi-user.target" in others


def test_who_needs_it(units: dict[str, UnitDetail]) -> None:
    assert units["plain.service"].needed_by == ("bound.service", "guest.service")
    assert units["plain.service"].wanted_by == ("multi-user.target",)
    assert "plain.service" in units["guest.service"].needs
    assert "plain.service" in units["guest.service"].after
    assert units["waits.service"].wanted_by == ("waits.socket",)
    assert units["late.service"].wanted_by == ("late.timer",)
    assert units["waits.service"].active_state == "inactive"


def test_how_it_fares(units: dict[str, UnitDetail]) -> None:
    loop = units["loop.service"]
    assert (loop.restarts or 0) >= 2
    assert (loop.result, loop.exit_status) == ("exit-code", 5)
    given_up = units["given-up.service"]
    assert (given_up.active_state, given_up.result, given_up.exit_status) == ("failed", "exit-code", 1)
    assert units["rubbish.service"].load_state == "bad-setting"
    assert units["systemd-udevd.service"].load_state == "masked"
    plain = units["plain.service"]
    assert (plain.active_state, plain.restarts, plain.condition) == ("active", 0, "")
    assert plain.control_group.endswith("/system.slice/plain.service")
    assert units[r"odd@a\x2db.service"].main_pid


def test_the_condition_that_kept_it(units: dict[str, UnitDetail]) -> None:
    assert units["unconfigured.service"].condition == "ConditionPathExists=/etc/ecs/ecs.config"
    assert units["asserted.service"].condition == "AssertPathExists=/nowhere"
    assert units["either.service"].condition == ""


def test_what_it_runs(units: dict[str, UnitDetail]) -> None:
    words = units["words.service"]
    assert words.commands == ("/bin/echo 'a b' $A ''", "/bin/true")
    assert words.environment == ("A=1", "B=two words", "C=3")
    assert words.environment_files == ("-/etc/none", "/etc/hostname")
    assert words.drop_ins == ("/etc/systemd/system/words.service.d/more.conf",)


def test_asking_loads_nothing(machine: Container) -> None:
    def loaded() -> set[str]:
        listed = machine.run(["systemctl", "list-units", "--all", "--plain", "--no-legend"]).stdout
        return {line.split()[0] for line in listed.splitlines()}

    before = loaded()
    reading = read_unit_details(Host(machine.root), ["unwanted.service", "plain.service"])
    assert [unit.name for unit in reading.value or ()] == ["plain.service"]
    assert "unwanted.service" not in before
    assert "unwanted.service" not in loaded()
