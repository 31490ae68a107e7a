"""The faults of the incidents do what they say, and are taken back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.faults import limit_kills, softirq_floods
from lab.faults.crash_loops import KEPT_BY_CACHES, crash_looping, leaked
from lab.faults.crash_loops import why_not as why_no_loop
from lab.faults.nic_stalls import Stall, stall_line, transmit_queues, write_stall
from lab.faults.nic_stalls import why_not as why_no_stall
from lab.faults.zombie_walks import FUNCTIONS, Walk, zombie_walk
from lab.faults.zombies import HIERARCHY, zombies
from lab.running.incident_play import seeing_systemd
from necroscope.signals.kernel_log_events import match_line
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import LogLine, open_kernel_log
from necroscope.sources.nic_queues import NicQueue

REASON = why_no_loop() or why_no_stall()
real = pytest.mark.skipif(REASON is not None, reason=str(REASON))
WHY_NO_FLOOD = softirq_floods.why_not()
QUEUE = NicQueue("eth7", "virtio_net", "virtio2", 3, "tx", 39, "virtio2-output.3", (1,), ())
ASK_UNITS = """
from necroscope.sources.host import Host
from necroscope.sources.units import open_units
for unit in open_units(Host())().value:
    print(unit.name, unit.restarts)
"""


def eventually(condition: Callable[[], bool], seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@real
def test_every_start_of_the_unit_leaks_what_it_says_and_the_purge_frees_it() -> None:
    before = leaked()
    with crash_looping(cgroups_per_start=100) as loop:
        assert eventually(lambda: loop.restarts() >= 4)
        loop.stop()
        starts = loop.machine.run(["journalctl", "--unit", loop.unit, "--output=cat"]).stdout
        failed = starts.count("could not register this instance")
        grown = leaked() - before
        # The last start may have been stopped halfway.
        assert failed >= 4
        assert failed * 100 - KEPT_BY_CACHES <= grown <= (failed + 1) * 100 + KEPT_BY_CACHES
        assert loop.cgroup.is_dir() and len(list(loop.cgroup.glob("*/"))) <= 1
        loop.purge()
        assert leaked() <= before + KEPT_BY_CACHES
    assert not loop.cgroup.parent.exists()
    assert leaked() <= before + KEPT_BY_CACHES


@real
def test_a_clean_crash_loop_makes_cgroups_and_leaks_none() -> None:
    before = leaked()
    with crash_looping(cgroups_per_start=100, leaks=False) as loop:
        assert eventually(lambda: loop.restarts() >= 4)
        loop.stop()
        assert eventually(lambda: leaked() <= before + KEPT_BY_CACHES)


@real
def test_a_recorder_behind_the_wrapper_sees_that_systemd_and_this_machine() -> None:
    others = {"healthy.service": "[Service]\nExecStart=/bin/sleep infinity\n"}
    with crash_looping(cgroups_per_start=1, others=others) as loop:
        assert eventually(lambda: loop.restarts() >= 1)
        wrapper = seeing_systemd(loop.machine)
        asked = subprocess.run(
            [*wrapper, sys.executable, "-c", ASK_UNITS], capture_output=True, text=True, check=True
        )
        units = dict(line.split() for line in asked.stdout.splitlines())
        assert int(units["ecs.service"]) >= 1
        assert units["healthy.service"] == "0"
        name = subprocess.run([*wrapper, "uname", "-n"], capture_output=True, text=True, check=True)
        assert name.stdout.strip() == os.uname().nodename
    assert not Path("/run/systemd/private").is_symlink()


def walk(count: int, seconds: float) -> Walk:
    """A walk over so many zombies, on the first core."""
    with (
        zombies(count),
        zombie_walk(HIERARCHY / f"necroscope-lab-{os.getpid()}", 0, seconds, "walker") as walker,
    ):
        return walker.wait()


@real
def test_a_walk_takes_longer_with_more_zombies() -> None:
    few, many = walk(200, 1.0), walk(2_000, 2.0)
    assert 4 < min(many.call_seconds) / min(few.call_seconds) < 40  # ten times as many


@real
@pytest.mark.skipif(shutil.which("perf") is None, reason="needs perf")
def test_a_walk_fills_its_core_with_kernel_work_of_the_right_name(tmp_path: Path) -> None:
    samples = tmp_path / "perf.data"
    record = ["perf", "record", "-q", "-o", str(samples), "-F", "97", "-e", "cpu-clock", "-C", "0"]
    cgroup = HIERARCHY / f"necroscope-lab-{os.getpid()}"
    with zombies(2_000), zombie_walk(cgroup, 0, 3.0, "kubelet") as walker:
        subprocess.run([*record, "--", "sleep", "2"], check=True, capture_output=True)
        done = walker.wait()
    assert (done.comm, done.core) == ("kubelet", 0)
    assert 2.9 < (done.end_ns - done.begin_ns) / 1e9 < 4.5
    assert done.system_seconds > 0.9 * (done.user_seconds + done.system_seconds)
    script = ["perf", "script", "-i", str(samples), "--comms", "kubelet", "-F", "ip,sym"]
    rows = subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines()
    functions = [row.split()[1] for row in rows if row.strip()]
    assert len(functions) > 60  # of 194, on a core that others may use too
    assert sum(name in FUNCTIONS for name in functions) > 0.7 * len(functions)


@pytest.mark.parametrize("napi_scheduled", [True, False])
def test_the_line_is_read_as_what_it_says(napi_scheduled: bool) -> None:
    event = match_line(LogLine(0, stall_line(QUEUE, napi_scheduled=napi_scheduled), 1, 1))
    assert event
    assert (event.kind, event.device, event.queue) == ("nic-reset", "eth7", 3)
    assert event.napi_scheduled is napi_scheduled


@real
def test_the_line_is_in_the_kernel_log_with_a_queue_of_this_machine() -> None:
    read = open_kernel_log(Host())
    read()
    stall: Stall = write_stall(transmit_queues()[0])
    log = read().value
    assert log
    (line,) = [line for line in log.lines if stall.line in line.text]
    assert abs(line.time_ns - stall.time_ns) < 5e8
    assert Path(f"/sys/class/net/{stall.queue.device}/queues/tx-{stall.queue.queue}").is_dir()
    assert stall.core in stall.queue.cores


def ticks(core: int) -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal of a core."""
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    return next([int(value) for value in row[1:9]] for row in rows if row[0] == f"cpu{core}")


def namespaces() -> str:
    """The network namespaces of this machine, by their inode."""
    command = ["lsns", "--type", "net", "--noheadings", "--output", "NS"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(WHY_NO_FLOOD is not None, reason=str(WHY_NO_FLOOD))
def test_a_flood_fills_its_core_with_softirqs_and_leaves_no_namespace() -> None:
    with softirq_floods.softirq_flood(0) as pid:
        own = str(Path(f"/proc/{pid}/ns/net").stat().st_ino)
        assert own in namespaces()
        time.sleep(0.5)
        began = ticks(0)
        time.sleep(2)
        used = [after - at_first for at_first, after in zip(began, ticks(0), strict=True)]
    assert used[6] > 0.5 * sum(used)
    assert own not in namespaces()


@real
def test_the_kernel_itself_kills_a_process_at_its_limit() -> None:
    read = open_kernel_log(Host())
    read()
    pid = limit_kills.kill_at_limit()
    log = read().value
    assert log
    events = [event for line in log.lines if (event := match_line(line))]
    (kill,) = [event for event in events if event.kind == "oom-kill" and event.pid == pid]
    assert (kill.rule, kill.from_user_space) == ("oom-kill-memory-cgroup", False)
    assert list(HIERARCHY.glob("necroscope-lab-limit-*")) == []
