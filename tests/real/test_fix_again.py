"""A fix that goes on, or is taken back, when the machine has changed: a real systemd."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.machines.nspawn import Container, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")
SLEEP = "[Service]\nExecStart=/bin/sleep infinity\n"
WANTED = "[Install]\nWantedBy=multi-user.target\n"
UNITS = {
    "slow.service": f"{SLEEP}ExecStop=/bin/sleep 3\n{WANTED}",
    "kubelet.service": f"{SLEEP}{WANTED}",
    "other.service": f"{SLEEP}{WANTED}",
}
NEEDS = "[Unit]\nRequires=slow.service\nAfter=slow.service\n"
STORE = "/var/tmp/store"


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(units=UNITS, enable=tuple(UNITS), binds=(CHECKOUT,)) as machine:
        yield machine


def fix(machine: Container, *words: str, store: str = STORE) -> dict[str, Any]:
    asked = [str(PROGRAM), "fix", *words, "--store", store, "--json"]
    body: dict[str, Any] = json.loads(machine.run(asked, timeout_seconds=120).stdout)
    return body


def apply(machine: Container, unit: str) -> dict[str, Any]:
    return fix(machine, "disable-unit", unit, "-d", "1s", "--baseline", "0", "--apply")


def are_on(machine: Container, *units: str) -> list[str]:
    return machine.run(["systemctl", "is-active", *units]).stdout.split()


def killed_in_the_stop(machine: Container) -> str:
    """The id of a fix that was killed while systemd stopped the unit."""
    words = f"'{PROGRAM}' fix disable-unit slow -d 1s --baseline 0 --apply --store {STORE}"
    script = (
        f"{words} >/dev/null 2>&1 & fix=$!; "
        "until systemctl is-active slow | grep -q deactivating; do sleep 0.05; done; kill -9 $fix; "
        "while systemctl is-active slow | grep -q deactivating; do sleep 0.1; done"
    )
    machine.run(["sh", "-c", script], timeout_seconds=120)
    (left,) = fix(machine, "--list")["unfinished"]
    return str(left["id"])


def test_what_has_become_vital_since_a_crash_is_not_stopped_and_comes_back(machine: Container) -> None:
    id = killed_in_the_stop(machine)
    other = fix(
        machine, "disable-unit", "other", "-d", "1s", "--baseline", "0", "--apply", store="/var/tmp/b"
    )
    assert other["error"]["slug"] == "fix-held" and STORE in other["error"]["what"]
    drop_in = machine.root / "etc/systemd/system/kubelet.service.d/needs.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(NEEDS)
    machine.run(["systemctl", "daemon-reload"])
    machine.run(["systemctl", "restart", "kubelet"])
    assert are_on(machine, "slow", "kubelet") == ["active", "active"]
    refused = fix(machine, "--continue", id)["error"]
    assert refused["slug"] == "fix-refused" and "kubelet.service" in refused["what"]
    assert are_on(machine, "slow", "kubelet") == ["active", "active"]
    assert fix(machine, "--continue", id, "--even-vital")["fix"]["state"] == "applied"
    assert are_on(machine, "slow", "kubelet") == ["inactive", "inactive"]
    undone = fix(machine, "--undo", id)["fix"]
    assert (undone["state"], undone["not_as_before"]) == ("undone", "")
    assert are_on(machine, "slow", "kubelet") == ["active", "active"]


def test_a_unit_that_cannot_come_back_is_told_and_holds_up_nothing(machine: Container) -> None:
    machine.run(["systemd-run", "--unit=trans", "sleep", "infinity"])
    id = apply(machine, "trans")["fix"]["id"]
    body = fix(machine, "--undo", id)
    if "error" in body:
        assert "org.freedesktop" not in body["error"]["what"]
        body = fix(machine, "--undo", id, "--force")
    assert "trans.service" in body["fix"]["not_as_before"]
    other = apply(machine, "other")["fix"]
    assert other["state"] == "applied"
    assert fix(machine, "--undo", other["id"])["fix"]["not_as_before"] == ""


def test_nobody_can_hold_up_a_fix_by_a_lock_on_the_root(machine: Container) -> None:
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    script = [str(PROGRAM), "fix", "disable-unit", "other", "-d", "1s", "--baseline", "0", "--apply"]
    flock = " ".join([*user, "flock", "--no-fork", "/", "sleep", "60"])
    done = machine.run(
        [
            "sh",
            "-c",
            f"{flock} >/dev/null 2>&1 & lock=$!; sleep 0.3; {shlex.join(script)} --store {STORE}; kill $lock",
        ],
        timeout_seconds=120,
    )
    assert ": applied" in done.stdout, done.stderr
    assert machine.run(["stat", "-c", "%a %U", "/run/necroscope-fixes"]).stdout == "700 root\n"
