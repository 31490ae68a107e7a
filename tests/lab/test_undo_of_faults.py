"""Faults whose own process is lost: what it made is undone all the same."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.faults import churn, short_memory
from lab.faults.churn import churning
from lab.recorders import children_of, wait_until
from lab.running.differences import LAB_MADE
from lab.scenarios.kernels import machines
from lab.training import network

WHY_NO_CHURN = churn.why_not()
WHY_NO_POOL = short_memory.why_not()
WHY_NO_NETWORK = network.why_not()
# A probe that undoes nothing when it is asked to end, and a child as QEMU is.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "100"], stdout=-3, stderr=-3)
print(child.pid, flush=True)
time.sleep(100)
"""


@pytest.mark.skipif(WHY_NO_CHURN is not None, reason=str(WHY_NO_CHURN))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_churn_that_is_killed_or_hangs(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(churn, "END_SECONDS", 1.0)
    error: type[BaseException] | None = None
    try:
        with churning(tmp_path, f"undo-{os.getpid()}") as one:
            places = churn._places(one.process.pid)
            wait_until(lambda: places[1].is_dir() and any(places[1].iterdir()), 20, "a leak")
            one.process.send_signal(number)
    except subprocess.TimeoutExpired as expired:
        error = type(expired)
    assert (error is None) == (number == signal.SIGKILL), "one that hangs is told of"
    assert one.process.returncode == -signal.SIGKILL
    assert not any(place.exists() for place in places)


@pytest.mark.skipif(WHY_NO_POOL is not None, reason=str(WHY_NO_POOL))
def test_memory_is_given_back_although_its_holder_was_killed() -> None:
    now = short_memory.memory()
    with short_memory._all_taken_but(now["MemAvailable"] - 8 * now["Hugepagesize"]):
        (holder,) = [pid for pid in children_of(os.getpid()) if "nr_hugepages" in _command(pid)]
        assert Path(f"/proc/{holder}/oom_score_adj").read_text() == ("-1000\n" if _may_spare() else "0\n")
        assert short_memory.POOL.read_text() != "0\n"
        os.kill(holder, signal.SIGKILL)
    assert short_memory.POOL.read_text() == "0\n"


@pytest.mark.skipif(WHY_NO_NETWORK is not None, reason=str(WHY_NO_NETWORK))
def test_a_ctrl_c_does_not_reach_what_holds_the_network() -> None:
    with network.two_hosts(0) as hosts:
        assert all(os.getsid(pid) == pid for pid in hosts.holders.values())
        assert all(LAB_MADE.search(f"link {link}") and len(link) <= 15 for link in hosts.links.values())


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_a_probe_that_does_not_end_is_ended_with_its_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "PROBE", [sys.executable, "-c", STUBBORN])
    monkeypatch.setattr(machines, "UNDO_SECONDS", 1.0)
    with pytest.raises(subprocess.TimeoutExpired), machines.probing(machines.HERE) as process:
        assert process.stdout and os.getsid(process.pid) == process.pid
        guest = int(process.stdout.readline())
    assert process.returncode == -signal.SIGKILL
    time.sleep(0.1)
    assert "sleep" not in _command(guest)


def _may_spare() -> bool:
    """Whether we have CAP_SYS_RESOURCE, without which nobody is spared by the kernel's choice of a victim."""
    rows = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return bool(int(rows["CapEff"], 16) >> 24 & 1)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
