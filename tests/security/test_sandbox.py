"""A recorder that was taken over uses CAP_SYS_PTRACE to change other processes.

The unit gives it that capability to read /proc. With `@system-service`, process_vm_writev was among the
system calls that it may use, and wrote into the memory of any process of root.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.unit_on_a_node import DEPLOY, PROBE, UNIT, Node, booted_node
from tests.security import sandbox_attack
from tests.security.sandbox_attack import Attack

README = (DEPLOY / "README.md").read_text()
# In tenths, as `systemd-analyze security` of systemd 252 rates the units.
EXPOSURE = {"necroscope.service": 31, "necroscope-serve.service": 12}
ATTEMPTS = [name for name in vars(Attack) if not name.startswith("_")]
# No filter of system calls can tell these from what the recorder needs; the README says so.
POSSIBLE = {"shared_memory": "memfd_create", "tmp_of_the_host": "/proc/PID/root"}
CALLS = (
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "process_mrelease",
    "pidfd_getfd",
    "kcmp",
    "migrate_pages",
    "move_pages",
)
VICTIM = "[Service]\nExecStart=/usr/bin/python3 /run/probe.py victim\n"


@pytest.mark.parametrize("unit", EXPOSURE)
def test_exposure_stays_low(unit: str) -> None:
    command = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE[unit]}", "--no-pager"]
    ran = subprocess.run([*command, DEPLOY / unit], check=False, capture_output=True, text=True)
    if "--offline" in ran.stderr:
        pytest.skip(f"systemd-analyze is too old: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stdout[-200:]


def test_calls_that_reach_into_other_processes_are_filtered() -> None:
    """Also those that a later systemd may add to @system-service."""
    filters = re.findall(r"^SystemCallFilter=~(.*)$", UNIT, re.MULTILINE)
    assert set(CALLS) <= {name for line in filters for name in line.split()}
    allowed = re.findall(r"^SystemCallFilter=(?!~)(.*)$", UNIT, re.MULTILINE)
    assert allowed == ["@system-service perf_event_open syslog"]


def test_the_readme_says_what_remains_possible() -> None:
    for name in (*CALLS, *POSSIBLE.values()):
        assert f"`{name}`" in README


@dataclass(frozen=True)
class Outcome:
    """Errors by attempt, empty for those that went well, and what became of the victim."""

    sandboxed: dict[str, str]
    victim: dict[str, str]
    alone: dict[str, str]  # as root, without the sandbox: what the container forbids, or the kernel lacks


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    with booted_node(Path(sandbox_attack.__file__).read_text()) as node:
        node.put("run/systemd/system/victim.service", VICTIM)
        node.run("systemctl daemon-reload; systemctl start victim.service")
        wait_for_the_victim(node)
        sandboxed = json.loads(node.start("necroscope.service", PROBE))
        victim = wait_for_the_victim(node)
        alone = json.loads(node.start("alone.service", PROBE))
        yield Outcome(sandboxed, victim, alone)


def wait_for_the_victim(node: Node) -> dict[str, str]:
    """Return how it is now; it says so all the time."""
    state = node.machine.root / "run/victim.state"
    state.unlink(missing_ok=True)
    deadline = time.monotonic() + 10
    while not state.exists():
        assert time.monotonic() < deadline, node.run("systemctl status victim.service || true")
        time.sleep(0.05)
    found: dict[str, str] = json.loads(state.read_text())
    return found


@pytest.mark.parametrize("what", [name for name in ATTEMPTS if name not in POSSIBLE])
def test_the_recorder_cannot(what: str, outcome: Outcome) -> None:
    assert re.match(r"\[Errno (1|13)\] ", outcome.sandboxed[what]), "EPERM or EACCES"
    if outcome.alone[what]:
        pytest.skip(f"the container itself forbids it too: {outcome.alone[what]}")


def test_the_victim_is_untouched(outcome: Outcome) -> None:
    assert (outcome.victim["memory"], outcome.victim["file"]) == ("untouched", "")
    assert outcome.alone["process_vm_writev"] == "", "else this shows nothing"


@pytest.mark.parametrize("what", POSSIBLE)
def test_what_remains_possible_is_known(what: str, outcome: Outcome) -> None:
    """When this fails, something got better: the README may say so."""
    assert outcome.sandboxed[what] == ""
