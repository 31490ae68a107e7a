"""Crash loops in a real systemd, in a container over this machine's own root."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.sources.host import Host
from necroscope.sources.units import open_units
from tests.real.conftest import evidence, findings
from tests.unprivileged import as_nobody

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")


def service(command: str, *lines: str) -> str:
    return "\n".join(["[Unit]", "StartLimitIntervalSec=0", "[Service]", f"ExecStart={command}", *lines, ""])


UNITS = {
    "ecs.service": service("/bin/false", "Restart=on-failure", "RestartSec=300ms"),
    "exporter.service": service("/bin/sh -c 'sleep 0.2; exit 3'", "Restart=always", "RestartSec=200ms"),
    "healthy.service": service("/bin/sleep infinity", "Restart=always"),
}


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(units=UNITS, enable=tuple(UNITS), binds=(CHECKOUT,)) as container:
        time.sleep(2)  # some restarts
        yield container


def doctor(machine: Container, *words: str) -> dict[str, Any]:
    done = machine.run([str(PROGRAM), "doctor", "--json", *words])
    assert done.returncode == 1, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return body


def test_exactly_the_two_loops_with_their_restart_counts(machine: Container) -> None:
    found = findings(doctor(machine, "-d", "3s"), "unit-crash-loop")
    assert sorted(finding["summary"].split()[0] for finding in found) == ["ecs.service", "exporter.service"]
    for finding in found:
        name, facts = finding["summary"].split()[0], evidence(finding)
        shown = machine.run(["systemctl", "show", "--property=NRestarts", "--value", name])
        assert 3 <= facts["restarts"] <= int(shown.stdout)
        assert facts["restarts while looking"] >= 2
        assert facts["unit file"] == f"/etc/systemd/system/{name}"
        assert facts["enabled"].startswith("enabled")

    assert next(f for f in found if "ecs" in f["summary"])["summary"].startswith(
        "ecs.service is crash-looping"
    )


def test_systemd_can_be_asked_from_outside_by_its_root(machine: Container) -> None:
    reading = open_units(Host(machine.root))()
    assert reading.value is not None, reading.reason
    units = {unit.name: unit for unit in reading.value}
    assert units["healthy.service"].active_state == "active"
    assert units["healthy.service"].restarts == 0
    assert (units["ecs.service"].restarts or 0) > 0


def test_without_a_bus_the_private_socket_answers(machine: Container) -> None:
    machine.run(["systemctl", "stop", "dbus.socket", "dbus.service"])
    found = findings(doctor(machine, "-d", "1s"), "unit-crash-loop")
    assert len(found) == 2


def test_an_unprivileged_user_is_told_why(machine: Container) -> None:
    """Without a bus only root may ask systemd."""
    done = machine.run([*as_nobody(), str(PROGRAM), "doctor", "-d", "1s", "--json"])
    rows = {row["source"]: row for row in json.loads(done.stdout)["not_checked"]}
    assert "not permitted" in rows["units"]["reason"]
