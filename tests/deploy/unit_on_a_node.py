"""A container that permits what a node permits, with the shipped unit on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.machines.nspawn import Container, why_not

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy/systemd"
UNIT = (DEPLOY / "necroscope.service").read_text()
# What systemd-nspawn takes away, and a unit on a real node has.
LIKE_A_NODE = (
    "--system-call-filter=perf_event_open syslog @debug @ipc kcmp move_pages migrate_pages",
    "--capability=CAP_PERFMON,CAP_SYSLOG",
)

# Every command of a unit begins the file of its output anew: these have one only.
PROBE = """
[Service]
Type=oneshot
Restart=no
ExecStart=
ExecStart=/usr/bin/python3 /run/probe.py
ExecStartPre=
ExecStopPost=
StandardOutput=truncate:/run/probe.json
"""
WITHOUT_SANDBOX = "[Service]\nStateDirectory=necroscope\n"


@dataclass(frozen=True)
class Node:
    """The container, and the unit on it."""

    machine: Container

    def run(self, command: str) -> str:
        """Run a command in a shell and return what it prints; it must not fail."""
        ran = self.machine.run(["sh", "-c", command])
        log = self.machine.run(["journalctl", "--no-pager", "-n", "20"]).stdout if ran.returncode else ""
        assert ran.returncode == 0, f"{command}: {ran.stderr}{log}"
        return ran.stdout

    def put(self, path: str, text: str) -> None:
        """Write a file that everybody may read."""
        target = self.machine.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o644)

    def start(self, unit: str, *changes: str) -> str:
        """Return what a unit prints, with its settings changed; it ends by itself."""
        self.put(f"run/systemd/system/{unit}.d/probe.conf", "".join(changes))
        self.run(f"rm -f /run/probe.json; systemctl daemon-reload; systemctl start {unit}")
        return (self.machine.root / "run/probe.json").read_text()


@contextmanager
def booted_node(probe: str) -> Iterator[Node]:
    """Boot it, with a program as /run/probe.py, or skip."""
    if reason := why_not():
        pytest.skip(f"no container: {reason}")
    if not shutil.which("perf"):
        pytest.skip("perf is not installed: apt-get install linux-perf")
    units = {
        "necroscope.service": UNIT.replace("StartLimitBurst=5", "StartLimitBurst=1000"),
        "alone.service": WITHOUT_SANDBOX,
    }
    hidden = any(ROOT.is_relative_to(path) for path in ("/tmp", "/run"))  # by the container's own
    with Container(units=units, extra=LIKE_A_NODE, binds=(ROOT,) if hidden else ()) as machine:
        node = Node(machine)
        node.put("run/sysusers.conf", (DEPLOY / "necroscope.sysusers.conf").read_text())
        node.put("run/probe.py", probe)
        node.run("systemd-sysusers /run/sysusers.conf")
        yield node
