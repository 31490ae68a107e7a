"""Snapshots of a real systemd in a container, with units that are never twice in the same state."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.inventory.snapshot import snapshot_text, take_snapshot
from necroscope.model.snapshot import Snapshot
from necroscope.sources.host import Host

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

CHECKOUT = Path(__file__).parents[2]
SCRIPT = "echo ECS_CLUSTER=blue >/etc/ecs/made.config; systemctl enable agent; exit 7"


def service(command: str, *lines: str, unit: str = "StartLimitIntervalSec=0") -> str:
    return "\n".join(["[Unit]", unit, "[Service]", f"ExecStart={command}", *lines, ""])


UNITS = {
    "busy.service": service("/bin/timeout 1h /bin/sh -c 'while :; do :; done'", "Nice=10"),
    "crashy.service": service("/bin/false", "Restart=always", "RestartSec=70ms"),
    "flaky.service": service("/bin/sh -c 'sleep 0.15; exit 1'", "Restart=always", "RestartSec=50ms"),
    "healthy.service": service("/bin/sleep infinity", "Environment=MODE=fast DB_PASSWORD=hunter2"),
    "broken.service": service("/bin/sh -c 'exit 3'"),
    "done.service": service("/bin/true", "Type=oneshot", "RemainAfterExit=yes"),
    "once.service": service("/bin/true", "Type=oneshot"),
    "setup.service": service(f"/bin/sh -c '{SCRIPT}'", "Type=oneshot"),
    "loop.service": service("/bin/false", "Type=oneshot", "Restart=on-failure", "RestartSec=60ms"),
    "skipped.service": service("/bin/sleep infinity", unit="ConditionPathExists=/etc/none/config"),
    "disabled.service": service("/bin/sleep infinity"),
    "tick.service": service("/bin/true", "Type=oneshot"),
    "tick.timer": "[Timer]\nOnActiveSec=0\nOnUnitActiveSec=50ms\nAccuracySec=1ms\n",
    "failing.service": service("/bin/sh -c 'sleep 0.1; exit 1'", "Type=oneshot"),
    "failing.timer": "[Timer]\nOnActiveSec=0\nOnUnitInactiveSec=150ms\nAccuracySec=1ms\n",
    "slow-loop.service": service("/bin/sh -c 'sleep 2; exit 1'", "Restart=always", "RestartSec=2"),
    "idle.service": service("/bin/sleep 0.3") + "[Install]\nWantedBy=x.target\n",
    "idle.path": "[Path]\nPathExists=/etc/hostname\nTriggerLimitIntervalSec=0\n",
    "both.service": service("/bin/sleep 0.2", "Type=oneshot"),
    "both.timer": "[Timer]\nOnActiveSec=0\nOnUnitInactiveSec=200ms\nAccuracySec=1ms\n",
    "both-fails.service": service("/bin/sh -c 'sleep 0.2; exit 1'", "Type=oneshot"),
    "both-fails.timer": "[Timer]\nOnActiveSec=0\nOnUnitInactiveSec=200ms\nAccuracySec=1ms\n",
    "mend.service": service("/bin/sleep 0.1", "Type=oneshot"),
    "unlucky.service": service(
        "/bin/sh -c 'sleep 0.2; exit 1'",
        *("Restart=always", "RestartSec=100ms"),
        unit="OnFailure=mend.service\nStartLimitIntervalSec=0",
    ),
    "retried.service": service(
        "/bin/sh -c 'test -e /run/retried || { touch /run/retried; exit 1; }'",
        *("Type=oneshot", "Restart=on-failure", "RestartSec=100ms"),
    ),
    "needy.service": service("/bin/sleep infinity", unit="Requires=healthy.service"),
    "healthy.service.d/10-more.conf": "# why\n[Service]\nNice=5\nEnvironment=API_KEY=abcdef\n",
}
ENABLED = (
    "busy.service",
    *("crashy.service", "flaky.service", "healthy.service", "broken.service", "done.service", "once.service"),
    *("setup.service", "loop.service", "skipped.service", "tick.timer", "needy.service"),
    *("failing.timer", "slow-loop.service", "idle.path", "both.service", "both.timer", "unlucky.service"),
    *("both-fails.service", "both-fails.timer", "retried.service"),
)


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(units=UNITS, enable=ENABLED, binds=(CHECKOUT,)) as container:
        time.sleep(3)  # the slow loop has been restarted by then
        yield container


@pytest.fixture(scope="module")
def snapshot(machine: Container) -> Snapshot:
    return take_snapshot(Host(machine.root))


def of_unit(snapshot: Snapshot, aspect: str) -> Mapping[str, str]:
    wanted = [name for name in UNITS if "/" not in name]
    return {name: snapshot.facts["units"][f"{name}/{aspect}"] for name in wanted}


def test_how_each_unit_fares(snapshot: Snapshot) -> None:
    assert of_unit(snapshot, "runs") == {
        "busy.service": "running",
        "crashy.service": "crash-looping",
        "flaky.service": "crash-looping",
        "healthy.service": "running",
        "broken.service": "failed",
        "done.service": "exited",
        "once.service": "exited",
        "setup.service": "failed",
        "loop.service": "crash-looping",
        "skipped.service": "skipped (ConditionPathExists=/etc/none/config)",
        "disabled.service": "stopped",
        "tick.service": "on demand",
        "tick.timer": "waiting",
        "failing.service": "on demand",
        "failing.timer": "waiting",
        "slow-loop.service": "crash-looping",
        "idle.service": "on demand",
        "idle.path": "waiting",
        "both.service": "on demand",
        "both.timer": "waiting",
        "both-fails.service": "on demand",
        "both-fails.timer": "waiting",
        "mend.service": "on demand",
        "unlucky.service": "crash-looping",
        "retried.service": "exited",
        "needy.service": "running",
    }


def test_steps_and_what_they_are_about(snapshot: Snapshot) -> None:
    steps = snapshot.facts["bootstrap"]
    assert steps["done.service"] == steps["once.service"] == "succeeded"
    assert steps["setup.service"] == "failed (exit 7)"
    assert steps["loop.service"] == "failed (again and again)"
    assert steps["retried.service"] == "succeeded"
    assert steps["both.service"] == steps["both-fails.service"] == "repeated"
    assert steps["setup.service/names"].split() == ["/etc/ecs/made.config", "agent.service"]
    assert not [name for name in steps if name.startswith(("tick", "healthy", "systemd-"))]


def test_files_drop_ins_and_needs(snapshot: Snapshot) -> None:
    units = snapshot.facts["units"]
    drop_in = "/etc/systemd/system/healthy.service.d/10-more.conf"
    assert units["healthy.service/drop-ins"] == drop_in
    assert units[f"healthy.service/drop-in {drop_in}"] == (
        "[Service] Nice=5\n[Service] Environment=API_KEY=<redacted>"
    )
    assert units["needy.service/needs"] == "healthy.service"
    assert units["healthy.service/origin"] == "local"
    environment = snapshot.facts["environment"]
    assert environment["healthy.service/MODE"] == "fast"
    assert environment["healthy.service/DB_PASSWORD"] == "<redacted>"


def test_ten_takes_are_the_same_to_the_byte(machine: Container) -> None:
    texts = set()
    for take in range(10):
        texts.add(snapshot_text(take_snapshot(Host(machine.root))))
        time.sleep(0.017 * (take % 5))
    assert len(texts) == 1, differing(texts)


def test_from_inside_it_looks_as_from_outside(machine: Container, snapshot: Snapshot) -> None:
    take = (
        "from necroscope.inventory.snapshot import *; from necroscope.sources.host import Host;"
        "print(snapshot_text(take_snapshot(Host())))"
    )
    done = machine.run([sys.executable, "-c", take])
    assert done.returncode == 0, done.stderr
    inside = json.loads(done.stdout)
    assert inside["host"] == snapshot.host
    for section in ("units", "bootstrap", "packages", "environment", "memory"):
        assert inside["facts"][section] == snapshot.facts[section], section
    # The kernel tells those of the network namespace that asks.
    assert "net.ipv4.ip_forward" in inside["facts"]["sysctls"]
    assert "net.ipv4.ip_forward" not in snapshot.facts["sysctls"]
    assert "namespace" in snapshot.not_read["sysctls"]


def test_a_reload_in_the_middle_is_not_seen(machine: Container, snapshot: Snapshot) -> None:
    takes = [snapshot_text(snapshot)]
    with ThreadPoolExecutor(1) as background:
        for _ in range(6):
            reload = background.submit(machine.run, ["systemctl", "daemon-reload"])
            takes.append(snapshot_text(take_snapshot(Host(machine.root))))
            reload.result().check_returncode()
    assert len(set(takes)) == 1, differing(set(takes))


def test_twins_differ_in_their_names_only(machine: Container, snapshot: Snapshot) -> None:
    with Container(units=UNITS, enable=ENABLED, binds=(CHECKOUT,)) as twin:
        time.sleep(3)
        other = take_snapshot(Host(twin.root))
    assert other.host != snapshot.host
    assert differing({snapshot_text(snapshot), snapshot_text(other)})[:-2] == []
    assert other.not_read == snapshot.not_read


def test_this_machine_twice() -> None:
    texts = {snapshot_text(take_snapshot(Host(Path("/")))) for _ in range(5)}
    assert len(texts) == 1, differing(texts)


def test_what_is_made_at_run_time_is_left_out(machine: Container, snapshot: Snapshot) -> None:
    run = ["systemd-run", "--unit=zqrun", "--setenv=PASS=zq1", "--setenv=MODE=zq2", "/bin/sleep", "60"]
    machine.run(run).check_returncode()
    text = snapshot_text(take_snapshot(Host(machine.root)))
    machine.run(["systemctl", "stop", "zqrun"]).check_returncode()
    assert text == snapshot_text(snapshot)


def test_a_change_of_the_host_is_seen(machine: Container, snapshot: Snapshot) -> None:
    machine.run(["systemctl", "stop", "needy.service"]).check_returncode()
    changed = take_snapshot(Host(machine.root))
    machine.run(["systemctl", "start", "needy.service"]).check_returncode()
    one, other = snapshot.facts["units"], changed.facts["units"]
    assert {name for name in one if one[name] != other.get(name)} == {"needy.service/runs"}


def differing(texts: set[str]) -> list[str]:
    one, other = (json.loads(text) for text in sorted(texts)[:2])
    return [
        f"{section}/{name}: {one['facts'][section].get(name)!r} {other['facts'][section].get(name)!r}"
        for section in one["facts"]
        for name in {*one["facts"][section], *other["facts"][section]}
        if one["facts"][section].get(name) != other["facts"][section].get(name)
    ] + [str(one["not_read"]), str(other["not_read"])]
