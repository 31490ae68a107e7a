"""The shipped unit lets the recorder do its work, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.deploy import sandbox_probe
from tests.deploy.unit_on_a_node import DEPLOY, PROBE, UNIT, Node, booted_node

README = (DEPLOY / "README.md").read_text()
CAPABILITIES = re.findall(r"CAP_\w+", next(re.finditer(r"^AmbientCapabilities=.*$", UNIT, re.MULTILINE))[0])
PARANOID = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
# By way of a shell: Python may be in root's home, where systemd itself does not look as the unit's user.
DOCTOR = f"""
[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=/bin/sh -c "exec '{sys.executable}' -m necroscope doctor -d 1s --json"
ExecStartPre=
ExecStopPost=
StandardOutput=truncate:/run/probe.json
SuccessExitStatus=1
"""

# Has a child, as the recorder has perf; both write down the signals they get.
FAMILY = """
import os, signal, subprocess, sys, time
def note(who):
    def handle(number, frame):
        with open("/var/lib/necroscope/signals", "a") as file:
            file.write(f"{who} {signal.Signals(number).name}\\n")
        if number == signal.SIGTERM and who == "main":
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            child.wait()
            sys.exit(0)
        if number == signal.SIGINT:
            sys.exit(0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, handle)
if len(sys.argv) > 1:
    note("child")
else:
    child = subprocess.Popen([sys.executable, __file__, "child"])
    time.sleep(0.3)
    note("main")
    open("/var/lib/necroscope/ready", "w").close()
while True:
    signal.pause()
"""


@dataclass(frozen=True)
class ProbedNode(Node):
    """With what the container itself forbids, and how."""

    alone: dict[str, str] = field(default_factory=dict)

    def probe(self, unit: str = "necroscope.service", change: str = "") -> dict[str, str]:
        results = json.loads(self.start(unit, PROBE, change))
        return {**results["needed"], **results["forbidden"]}

    def lost(self, change: str) -> set[str]:
        """What is needed and no longer works with a setting changed."""
        results = self.probe(change=change)
        return {name for name in sandbox_probe.NEEDED if results[name] and not self.alone[name]}


@pytest.fixture(scope="module")
def node() -> Iterator[ProbedNode]:
    with booted_node(Path(sandbox_probe.__file__).read_text()) as booted:
        node = ProbedNode(booted.machine)
        node.run("mknod -m 644 /dev/kmsg c 1 11; mount -t tracefs tracefs /sys/kernel/tracing")
        node.run("umask 077; echo a map >/tmp/perf-4242.map")
        node.alone.update(node.probe("alone.service"))
        node.run("rm -r /var/lib/necroscope")
        yield node


@pytest.fixture(scope="module")
def results(node: ProbedNode) -> dict[str, str]:
    return node.probe()


def test_systemd_understands_every_line(tmp_path: Path) -> None:
    # The command may not be installed here, and whether it exists is part of what systemd verifies.
    unit = tmp_path / "necroscope.service"
    unit.write_text(
        re.sub(r"^ExecStart=/usr/bin/necroscope", "ExecStart=/bin/true", UNIT, flags=re.MULTILINE)
    )
    ran = subprocess.run(["systemd-analyze", "verify", unit], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_capabilities_are_bounded_and_explained() -> None:
    bounding = re.findall(r"^CapabilityBoundingSet=(.*)$", UNIT, re.MULTILINE)
    assert bounding == [" ".join(CAPABILITIES)]
    for capability in CAPABILITIES:
        assert re.search(rf"^# {capability} ", UNIT, re.MULTILINE)
        assert re.search(rf"^\| `{capability}` \|", README, re.MULTILINE)


@pytest.mark.servers
@pytest.mark.parametrize("what", sandbox_probe.NEEDED)
def test_the_recorder_can(what: str, node: ProbedNode, results: dict[str, str]) -> None:
    if node.alone[what]:
        pytest.skip(f"the container itself forbids it: {node.alone[what]}")
    if what in ("samples", "tracepoints") and PARANOID > 2:
        pytest.skip(f"kernel.perf_event_paranoid is {PARANOID}: README.md says what to do about it")
    assert results[what] == ""


@pytest.mark.servers
@pytest.mark.parametrize("what", sandbox_probe.FORBIDDEN)
def test_the_recorder_cannot(what: str, node: ProbedNode, results: dict[str, str]) -> None:
    assert results[what] != ""
    if node.alone[what]:
        pytest.skip(f"the container itself forbids it too: {node.alone[what]}")


@pytest.mark.servers
def test_every_source_gives_what_it_gives_to_root(node: ProbedNode) -> None:
    sandboxed, free = (
        json.loads(node.start(unit, DOCTOR)) for unit in ("necroscope.service", "alone.service")
    )
    assert sandboxed["not_checked"] == free["not_checked"]


OTHERS = {"programs of others", "files of others"}


@pytest.mark.servers
@pytest.mark.parametrize(
    ("capability", "at_least", "at_most"),
    [
        ("CAP_PERFMON", {"samples", "tracepoints"}, set()),
        ("CAP_SYSLOG", {"kernel log", "syslog call", "kernel symbols"}, set()),
        # New kernels show the memory maps to CAP_PERFMON.
        ("CAP_SYS_PTRACE", OTHERS, {"memory maps of others"}),
        ("CAP_DAC_READ_SEARCH", {"tracepoints", "JIT symbols"}, set()),
    ],
)
def test_no_capability_is_superfluous(
    capability: str, at_least: set[str], at_most: set[str], node: ProbedNode
) -> None:
    sysctl = {"CAP_PERFMON": "perf_event_paranoid", "CAP_SYSLOG": "dmesg_restrict"}.get(capability)
    if sysctl and int(Path(f"/proc/sys/kernel/{sysctl}").read_text()) < 1:
        pytest.skip(f"kernel.{sysctl} is lax here: everybody may")
    rest = " ".join(one for one in CAPABILITIES if one != capability)
    change = "".join(f"{name}=\n{name}={rest}\n" for name in ("AmbientCapabilities", "CapabilityBoundingSet"))
    lost = node.lost(change)
    possible = {name for name in at_least if not node.alone[name]}
    assert possible <= lost <= at_least | at_most


@pytest.mark.servers
@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ("PrivateTmp=yes", {"JIT symbols"}),
        ("DynamicUser=yes", {"JIT symbols"}),
        ("PrivateDevices=yes", {"kernel log"}),
        ("ProtectKernelLogs=yes", {"kernel log", "syslog call", "kernel symbols"}),
        ("ProtectKernelTunables=yes", {"kernel symbols"}),
        ("SystemCallFilter=~perf_event_open", {"samples", "tracepoints"}),
        ("SystemCallFilter=~syslog", {"syslog call"}),
        ("LimitMEMLOCK=64K", {"samples", "tracepoints"}),
        ("Environment=TMPDIR=/tmp", {"temporary files"}),
    ],
)
def test_what_is_left_open_is_needed(change: str, lost: set[str], node: ProbedNode) -> None:
    if "MEMLOCK" in change and PARANOID < 0:
        pytest.skip("kernel.perf_event_paranoid is lax here: nothing is limited")
    assert node.lost(f"{change}\n") == {name for name in lost if not node.alone[name]}


@pytest.mark.servers
def test_a_stop_goes_to_the_recorder_first_and_a_reload_to_it_alone(node: ProbedNode) -> None:
    node.put("run/family.py", FAMILY)
    drop_in = "[Service]\nExecStart=\nExecStart=/usr/bin/python3 /run/family.py\n"
    node.put("run/systemd/system/necroscope.service.d/probe.conf", drop_in)
    node.run("systemctl daemon-reload; systemctl start necroscope.service")
    state = node.machine.root / "var/lib/necroscope"
    deadline = time.monotonic() + 10
    while not (state / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    node.run("systemctl reload necroscope.service; sleep 0.2; systemctl stop necroscope.service")
    signals = (state / "signals").read_text().splitlines()
    assert signals == ["main SIGHUP", "main SIGTERM", "child SIGINT"]
    assert node.run("systemctl show -P Result necroscope.service") == "success\n"


RECORD = f"""
[Service]
Restart=no
ExecStart=
ExecStart=/bin/sh -c "exec '{sys.executable}' -m necroscope record --segment 4s --store /var/lib/necroscope \\
  --listen 127.0.0.1:9464"
StandardError=append:/run/recorder.txt
"""


@pytest.mark.servers
def test_the_recorder_itself_runs_in_it(node: ProbedNode) -> None:
    node.put("run/systemd/system/necroscope.service.d/probe.conf", RECORD)
    node.run("systemctl daemon-reload; systemctl start necroscope.service")
    time.sleep(11)
    metrics = node.run(
        f"'{sys.executable}' -c 'import urllib.request as u; "
        'print(u.urlopen("http://127.0.0.1:9464/metrics").read().decode())\''
    )
    node.run("systemctl reload necroscope.service")
    time.sleep(1.5)
    node.run("systemctl stop necroscope.service")
    said = (node.machine.root / "run/recorder.txt").read_text()
    assert "the configuration is reloaded" in said
    assert "necroscope\n" not in node.run("ls /sys/kernel/tracing/instances"), "the ledger's is removed"
    assert re.search(r"^necroscope_profiling 1$", metrics, re.MULTILINE), said
    assert re.search(r"^necroscope_store_writable 1$", metrics, re.MULTILINE)
    assert re.search(r'^necroscope_source_up\{source="kernel-log",reason=""\} 1$', metrics, re.MULTILINE)
    stored = f"'{sys.executable}' -m necroscope timeline --store /var/lib/necroscope --json"
    timeline = json.loads(node.run(stored))
    assert timeline["columns"] >= 10 and timeline["missing"] == 0
    store = node.machine.root / "var/lib/necroscope"
    segments = [json.loads(path.read_text()) for path in sorted(store.glob("*/2*/segment.json"))]
    assert len(segments) >= 3 and all(segment["state"] == "sealed" for segment in segments)
    assert all(segment["profile"]["samples"] for segment in segments[:-1])
    assert node.run("systemctl show -p Result --value necroscope.service").strip() == "success"
