"""A mark in the kernel log by a program that then spins on one core: what a recording has to find again."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

SPIN_SECONDS = 0.1
PROGRAM = """
import ctypes, json, os, sys, time
core, comm, text = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.sched_setaffinity(0, [core])
log = os.open("/dev/kmsg", os.O_WRONLY)
line = f"<4>necroscope mark: {text}\\n".encode()
ctypes.CDLL(None).prctl(15, comm.encode(), 0, 0, 0)  # PR_SET_NAME
before = time.monotonic_ns()
os.write(log, line)
after = time.monotonic_ns()
until = time.thread_time_ns() + float(sys.argv[4]) * 1e9  # of CPU time: the core may have others to serve
while time.thread_time_ns() < until:
    pass
print(json.dumps([before, after]))
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """What was written, and when by CLOCK_MONOTONIC."""

    text: str
    comm: str
    core: int
    before_ns: int
    after_ns: int


def mark_and_spin(core: int, text: str) -> Mark:
    """Run the program, which is called `spin-CORE-TEXT` while it spins."""
    comm = f"spin-{core}-{text}"[:15]
    command = [sys.executable, "-c", PROGRAM, str(core), comm, text, str(SPIN_SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Mark(text, comm, core, *json.loads(done.stdout))
