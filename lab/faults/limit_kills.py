"""A process that reaches the memory limit of its own cgroup (v1), and is killed for it.

The node has memory enough; the kernel's line is its own: `Memory cgroup out of memory: Killed process`.

Needs    root and the memory controller of cgroup v1
Costs    0.1 s
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from lab.faults.zombies import HIERARCHY

LIMIT_BYTES = 32 << 20
COMM = "worker"
GROW = """
import os, sys
with open(sys.argv[1] + "/cgroup.procs", "w") as members:
    members.write(str(os.getpid()))
with open("/proc/self/comm", "w") as comm:
    comm.write(sys.argv[2])
grown = []
while True:
    grown.append(bytearray(os.urandom(1 << 20)))
"""


def kill_at_limit() -> int:
    """Have a process be killed by the kernel at its limit; gives the pid that it had."""
    cgroup = HIERARCHY / f"necroscope-lab-limit-{os.getpid()}"
    cgroup.mkdir()
    try:
        (cgroup / "memory.swappiness").write_text("0")  # where there is swap, it would go there instead
        (cgroup / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
        process = subprocess.Popen([sys.executable, "-IS", "-c", GROW, str(cgroup), COMM])
        try:
            status = process.wait(timeout=30)
        finally:
            process.kill()
            process.wait()
    finally:
        cgroup.rmdir()
    if status != -signal.SIGKILL:
        raise OSError(f"the process ended with {status}, and was not killed at its limit")
    return process.pid
