"""A process whose every system call walks all zombies below a memory cgroup: reclaim that finds nothing.

`memory.force_empty` on the living parent of zombies that tmpfs keeps tries some 200 times to reclaim their
pages, and without swap gets none. Each try goes through all of them, in the kernel, on one core. This costs
nobody else anything but that core: what is not below the parent is not touched.

One call took 0.1 ms without zombies, 72 ms with 1,000, 0.40 s with 5,000 and 3.6 to 4.6 s with 20,000 (Linux
6.18, two cores). Of five seconds on a core, perf found 99.6 % in shrink_node and below: mem_cgroup_iter
50 %, shrink_lruvec 23 %, shrink_node 16 %, css_next_descendant_pre 5 % of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Functions of which one must be in the profile of a walk.
FUNCTIONS = ("mem_cgroup_iter", "shrink_node", "shrink_lruvec", "css_next_descendant_pre", "shrink_slab")

# The signal ends a call between two of its tries; the handler raises, else Python would call again.
PROGRAM = """
import json, os, signal, sys, time
core, seconds, comm, cgroup = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]

class TimeIsUp(Exception):
    pass

def end(number, frame):
    raise TimeIsUp

with open("/proc/self/comm", "w") as name:
    name.write(comm)
os.sched_setaffinity(0, [core])
door = os.open(cgroup + "/memory.force_empty", os.O_WRONLY)
signal.signal(signal.SIGALRM, end)
signal.signal(signal.SIGTERM, end)
calls = []
began, before = time.monotonic_ns(), time.thread_time_ns()
try:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        call = time.thread_time_ns()
        os.write(door, b"0")
        calls.append((time.thread_time_ns() - call) / 1e9)
except TimeIsUp:
    pass
user, system = os.times()[:2]
print(json.dumps([began, time.monotonic_ns(), calls, user, system]))
"""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a process did on one core, and when by CLOCK_MONOTONIC."""

    comm: str
    core: int
    begin_ns: int
    end_ns: int
    call_seconds: tuple[float, ...]  # CPU time of each call that was not cut short
    user_seconds: float  # with the start of the process
    system_seconds: float


@dataclass(slots=True)
class Walker:
    """A process that walks; `wait` until it has done."""

    process: subprocess.Popen[str]
    comm: str
    core: int

    def wait(self) -> Walk:
        """What it has done, once its time is up."""
        output, _ = self.process.communicate(timeout=60)
        if self.process.returncode:
            raise OSError(f"the walk ended with status {self.process.returncode}")
        began, ended, calls, user, system = json.loads(output)
        return Walk(self.comm, self.core, began, ended, tuple(calls), user, system)


@contextmanager
def zombie_walk(cgroup: Path, core: int, seconds: float, comm: str = "kubelet") -> Iterator[Walker]:
    """Walk the zombies below a living memory cgroup, on one core, for some seconds."""
    command = [sys.executable, "-IS", "-c", PROGRAM, str(core), str(seconds), comm, str(cgroup)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield Walker(process, comm, core)
    finally:
        process.kill()
        process.communicate()
