"""The audit of a real systemd, in a container over this machine's own root."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.faults.orphaned_agents import AGENT, UNKNOWN, WELL, give_it_work, install
from lab.machines.nspawn import Container, why_not

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("necroscope")


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container(binds=(CHECKOUT,)) as container:
        install(container)
        yield container


def audit(machine: Container, *words: str) -> tuple[int, dict[str, Any]]:
    done = machine.run([str(PROGRAM), "audit", "--json", "-d", "3s", *words])
    assert done.stdout, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, body


def found(body: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (finding["subject"], finding["id"]) for finding in body["findings"] if finding["severity"] != "info"
    }


def test_the_orphan_and_the_loops_are_found_and_no_healthy_unit_is(machine: Container) -> None:
    code, body = audit(machine)
    assert code == 1
    assert body["live"] is True
    assert found(body) == {
        (AGENT, "unit-crash-loop"),
        (AGENT, "unit-orphaned-agent"),
        (UNKNOWN, "unit-crash-loop"),
        (UNKNOWN, "unit-default-enabled"),
    }
    units = {unit["name"]: unit for unit in body["units"]}
    agent = units[AGENT]
    assert agent["agent"]["id"] == "amazon-ecs-agent"
    assert agent["state"] == agent["preset"] == "enabled"
    assert agent["preset_rule"].startswith("/usr/lib/systemd/system-preset/10-image.preset")
    assert agent["origin"] == "image"
    assert agent["running"]["restarts_per_minute"] > 10
    assert units["docker.service"]["running"]["serves"] == [
        {"address": "unix /run/docker.sock", "clients": ["docker-client.service"]}
    ]
    assert "docker.service" in str(units["docker-client.service"]["running"]["calls"])


def test_the_same_from_outside_by_its_root(machine: Container) -> None:
    from necroscope.cli.main import main

    assert main(["audit", "--root", str(machine.root), "-d", "2s"]) == 1


def test_a_policy_allows_them_with_a_reason(machine: Container, tmp_path: Path) -> None:
    policy = machine.root / "etc/policy.toml"
    policy.write_text(f'[allow]\n"{AGENT}" = "for ECS"\n"{UNKNOWN}" = "soon gone"\n')
    code, body = audit(machine, "--policy", "/etc/policy.toml")
    assert code == 0
    assert not body["findings"]
    assert {(one["finding"]["subject"], one["reason"]) for one in body["allowed"]} == {
        (AGENT, "for ECS"),
        (UNKNOWN, "soon gone"),
    }


def test_an_agent_with_a_configuration_and_a_peer_is_not_orphaned(machine: Container) -> None:
    give_it_work(machine)
    _, body = audit(machine)
    assert {subject for subject, _ in found(body)} == {UNKNOWN}
    units = {unit["name"]: unit for unit in body["units"]}
    assert [need["what"] for need in units[AGENT]["agent"]["needs"] if need["met"] is False] == []
    assert units[AGENT]["running"]["calls"]
    # Its restarts are not forgotten, and no alarm.
    (word,) = [finding for finding in body["findings"] if finding["subject"] == AGENT]
    assert (word["id"], word["severity"]) == ("unit-crash-loop", "info")
    assert all(units[name]["running"]["active_state"] == "active" for name in WELL)


def test_an_image_is_not_judged_by_the_machine_that_builds_it(tmp_path: Path) -> None:
    """While an image is built in a chroot, the builder's /proc, /sys and /dev are mounted in it."""
    root = tmp_path / "root"
    units = root / "usr/lib/systemd/system"
    wants = root / "etc/systemd/system/multi-user.target.wants"
    for folder in (units, wants, root / "usr/bin", *(root / name for name in ("proc", "sys", "dev"))):
        folder.mkdir(parents=True)
    program = root / "usr/bin/nvidia-persistenced"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    text = "[Service]\nExecStart=/usr/bin/nvidia-persistenced\n[Install]\nWantedBy=multi-user.target\n"
    (units / "nvidia-persistenced.service").write_text(text)
    (wants / "nvidia-persistenced.service").symlink_to("/usr/lib/systemd/system/nvidia-persistenced.service")
    mounts = " && ".join(f'mount -n --bind /{name} "$1"/{name}' for name in ("proc", "sys", "dev"))
    script = f'{mounts} && exec "$0" audit --json --root "$1"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(PROGRAM), str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    body = json.loads(done.stdout)
    assert body["live"] is False
    assert body["findings"] == []
    (unit,) = [unit for unit in body["units"] if unit["name"] == "nvidia-persistenced.service"]
    assert unit["agent"]["needs"] and all(need["met"] is None for need in unit["agent"]["needs"])
