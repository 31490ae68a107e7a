"""A stand-in for kubelet on one core: its rounds of housekeeping take kernel time that grows with zombies.

Every round reads of each living memory cgroup what cAdvisor reads on cgroup v1. Up to Linux 5.7 one of those
files (memory.numa_stat) takes time for every zombie. Newer kernels read all of it in 6 ms, zombies or not, so
that there a round also does what no kubelet does: it writes "2" to /proc/sys/vm/drop_caches, some fixed
number of times. Each write looks for unused dentries and inodes of every memory cgroup, zombies too
(drop_slab, mem_cgroup_iter), and so takes time for each; it frees none that page cache holds. The number of
writes is chosen so that a round takes about 7 s at 8,000 zombies, by a measurement with 2,000.

    walks = measure_walks().walks_for(8_000, 7.0)
    with kubelet(core=0, walks=walks, notes=Path("rounds")) as one:
        one.rounds()[-1].seconds

The process is given the core before all others (nice -15): on a node with a hundred cores they would move
away from it, and here there is hardly another.

Needs    root, and the memory controller of cgroup v1
Costs    the core. One walk takes 4 ms at 20,000 zombies (measured, Linux 6.18). The kernel's own line for
         each is switched off until the next boot (by "4"): thousands would push all others out of its log.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.faults.crash_loops import leaked, wait_until_freed
from lab.faults.zombies import HIERARCHY, why_not, zombies
from lab.running.processes import END_WITH_PARENT

__all__ = [
    "COMM",
    "Kubelet",
    "KubeletError",
    "Round",
    "WalkCost",
    "Walks",
    "kubelet",
    "measure_walks",
    "why_not",
]

COMM = "kubelet"
HOUSEKEEPING_SECONDS = 10.0  # as the real one
WALK = Path("/proc/sys/vm/drop_caches")
WALK_SLAB, NO_LINES = b"2", b"4"
MEASURED_TIMES, MEASURED_ZOMBIES = 15, 2_000
BEYOND_CACHES = 1.5  # each of 8,000 zombies takes so many times what one of 2,000 takes (measured)
FEWEST_WALKS, MOST_WALKS = 1_500, 20_000

# What opencontainers/cgroups reads of a cgroup's memory, for cAdvisor in kubelet.
STATISTICS = (
    "memory.stat",
    "memory.usage_in_bytes",
    "memory.max_usage_in_bytes",
    "memory.failcnt",
    "memory.limit_in_bytes",
    "memory.memsw.usage_in_bytes",
    "memory.memsw.max_usage_in_bytes",
    "memory.memsw.failcnt",
    "memory.memsw.limit_in_bytes",
    "memory.kmem.usage_in_bytes",
    "memory.kmem.max_usage_in_bytes",
    "memory.kmem.failcnt",
    "memory.kmem.limit_in_bytes",
    "memory.use_hierarchy",
    "memory.numa_stat",
)

PROGRAM = """
import json, os, sys, time
core, walks, every_seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
hierarchy, door, names = sys.argv[4], sys.argv[5], sys.argv[6:]
with open("/proc/self/comm", "w") as comm:
    comm.write("kubelet")
os.sched_setaffinity(0, [core])
os.setpriority(os.PRIO_PROCESS, 0, -15)
if os.path.exists("/proc/self/autogroup"):  # then the kernel weighs sessions, and not processes
    with open("/proc/self/autogroup", "w") as weight:
        weight.write("-15")
walk = os.open(door, os.O_WRONLY)

def read_statistics():
    living = 0
    for folder, _, _ in os.walk(hierarchy):
        living += 1
        for name in names:
            try:
                with open(folder + "/" + name, "rb", buffering=0) as file:
                    file.read()
            except OSError:
                pass  # it has gone, or this kernel has no such file
    return living

def tracked():
    with open("/proc/cgroups") as rows:
        return next(int(row.split()[2]) for row in rows if row.startswith("memory\\t"))

parts = [count for part in range(20) if (count := walks * (part + 1) // 20 - walks * part // 20)]
while True:
    began = time.monotonic_ns()
    living = read_statistics()
    read = time.monotonic_ns()
    zombies = tracked() - living
    points = []
    for count in parts:
        part = time.monotonic_ns()
        for _ in range(count):
            os.pwrite(walk, b"2", 0)
        done = time.monotonic_ns()
        points.append((done, tracked() - living, (done - part) / 1e9 / count))
    ended, times = time.monotonic_ns(), os.times()
    row = [began, ended, (read - began) / 1e9, zombies, points, times.user, times.system]
    print(json.dumps(row), flush=True)
    time.sleep(max(1.0, every_seconds - (ended - began) / 1e9))
"""


class KubeletError(RuntimeError):
    """It has ended by itself; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Walks:
    """Some walks of a round, one after another."""

    end_ns: int  # CLOCK_MONOTONIC
    zombies: int  # by then
    seconds: float  # for each walk


@dataclass(frozen=True, slots=True)
class Round:
    """One round of housekeeping; times are by CLOCK_MONOTONIC."""

    begin_ns: int
    end_ns: int
    statistics_seconds: float  # of it for reading what cAdvisor reads
    zombies: int  # when it began
    walks: tuple[Walks, ...]  # in twenty parts
    user_seconds: float  # of the process since its start
    system_seconds: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ns - self.begin_ns) / 1e9


@dataclass(frozen=True, slots=True)
class Kubelet:
    """One that runs."""

    process: subprocess.Popen[bytes]
    core: int
    walks: int  # in a round
    notes: Path

    @property
    def pid(self) -> int:
        """Its process."""
        return self.process.pid

    def rounds(self) -> list[Round]:
        """All that have ended."""
        lines = self.notes.read_text().splitlines(keepends=True)
        return [_round(json.loads(line)) for line in lines if line.endswith("\n")]

    def check(self) -> None:
        """Raise KubeletError if it has ended."""
        if (code := self.process.poll()) is not None:
            said = _errors_beside(self.notes).read_text(errors="replace").strip()
            raise KubeletError(f"the stand-in for kubelet ended with {code}: {said}")


@dataclass(frozen=True, slots=True)
class WalkCost:
    """What a zombie costs whoever walks, measured."""

    statistics_seconds: float  # of one read of memory.numa_stat, for each zombie; 0 since Linux 5.8
    walk_seconds: float  # of one walk, for each zombie

    def walks_for(self, zombies: int, seconds: float) -> int:
        """How many walks make a round take about so long; none where the statistics alone do."""
        missing = seconds - zombies * self.statistics_seconds
        if missing <= 0:
            return 0
        walks = missing / (zombies * self.walk_seconds)
        return round(min(max(walks, FEWEST_WALKS), MOST_WALKS))


def measure_walks(count: int = MEASURED_ZOMBIES) -> WalkCost:
    """Time both walks with and without zombies. Meanwhile this process is in other cgroups: start nothing."""
    WALK.write_bytes(NO_LINES)
    before = _statistics_seconds(), _walk_seconds()
    level = leaked()
    with zombies(count):
        after = _statistics_seconds(), _walk_seconds()
    wait_until_freed(level)
    # What does not grow differs by some microseconds all the same.
    statistics_seconds = after[0] - before[0] if after[0] > 3 * before[0] else 0.0
    walk_seconds = max(after[1] - before[1], 0.1 * after[1])
    return WalkCost(statistics_seconds / count, walk_seconds / count * BEYOND_CACHES)


@contextmanager
def kubelet(
    core: int, walks: int, notes: Path, every_seconds: float = HOUSEKEEPING_SECONDS
) -> Iterator[Kubelet]:
    """Rounds of housekeeping on one core, until it is left."""
    WALK.write_bytes(NO_LINES)
    arguments = [str(core), str(walks), str(every_seconds), str(HIERARCHY), str(WALK), *STATISTICS]
    command = [*END_WITH_PARENT, sys.executable, "-IS", "-c", PROGRAM, *arguments]
    with notes.open("wb") as output, _errors_beside(notes).open("wb") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors, start_new_session=True)
    try:
        yield Kubelet(process, core, walks, notes)
    finally:
        process.kill()
        process.wait()


def _round(row: list[Any]) -> Round:
    begin_ns, end_ns, statistics_seconds, zombies, points, user_seconds, system_seconds = row
    walks = tuple(Walks(*point) for point in points)
    return Round(begin_ns, end_ns, statistics_seconds, zombies, walks, user_seconds, system_seconds)


def _errors_beside(notes: Path) -> Path:
    return notes.with_suffix(".err")


def _statistics_seconds() -> float:
    return _least_seconds((HIERARCHY / "memory.numa_stat").read_bytes)


def _walk_seconds() -> float:
    return _least_seconds(lambda: WALK.write_bytes(WALK_SLAB))


def _least_seconds(work: Callable[[], object]) -> float:
    """The least of some: load on the machine only adds."""
    times = []
    for _ in range(MEASURED_TIMES):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)
