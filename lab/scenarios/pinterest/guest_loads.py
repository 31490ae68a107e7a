"""What keeps one core busy in a guest, each for some seconds, and what it noticed meanwhile.

python -m lab.scenarios.pinterest.guest_loads NAME CORE SECONDS

idle      nothing
reader    reads memory.numa_stat of the root again and again, as kubelet's cAdvisor does every few seconds
user      a loop in user space
yielding  reads /dev/zero, 16 MiB a call: kernel work that asks after every page whether another should run
long      calls of half a second that let nobody else have the core (see `guest_long_call`)
gaps      sleeps a millisecond again and again: how long the core was not to be had
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab.scenarios.pinterest.guest_long_call import long_call

STATISTICS = Path("/sys/fs/cgroup/memory/memory.numa_stat")
READER = "kubelet"  # the name of the process that reads
YIELDING_BYTES = 16 << 20
LONG_SECONDS = 0.5


def main() -> None:
    """Load a core; then print the seconds of every call."""
    name, core, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.sched_setaffinity(0, [core])
    if name == "reader":
        Path("/proc/self/comm").write_text(READER)
    call = CALLS[name]()
    took: list[float] = []
    now = began = time.monotonic()
    while now < began + seconds:
        call()
        after = time.monotonic()
        took.append(after - now)
        now = after
    print(json.dumps(took if len(took) < 20_000 else [max(took)]))


def is_possible(name: str) -> bool:
    """Whether this kernel has what a load needs; a long call needs BPF."""
    try:
        CALLS[name]()
    except OSError:
        return False
    return True


def _idle() -> Callable[[], object]:
    return lambda: time.sleep(0.5)


def _reader() -> Callable[[], object]:
    door = os.open(STATISTICS, os.O_RDONLY)
    return lambda: os.pread(door, 1 << 16, 0)


def _user() -> Callable[[], object]:
    return lambda: sum(range(10_000))


def _yielding() -> Callable[[], object]:
    door, memory = os.open("/dev/zero", os.O_RDONLY), bytearray(YIELDING_BYTES)
    return lambda: os.readv(door, [memory])


def _long() -> Callable[[], object]:
    return long_call(LONG_SECONDS)


def _gaps() -> Callable[[], object]:
    return lambda: time.sleep(0.001)


CALLS: dict[str, Callable[[], Callable[[], object]]] = {
    "idle": _idle,
    "reader": _reader,
    "user": _user,
    "yielding": _yielding,
    "long": _long,
    "gaps": _gaps,
}

if __name__ == "__main__":
    main()
