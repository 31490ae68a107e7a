"""What the cgroup ledger costs while 1,000 memory cgroups a second are made and removed, and while none is.

    python benchmarks/bench_ledger.py [--seconds 20]

Limit: 1 % of one core, which is what the recorder may take all in. CPU time is that of the ledger's thread
and of the readings, from /proc/PID/task/TID/schedstat. What the tracepoints cost those who make cgroups is
told beside it: the time to make and remove one with the ledger and without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import report_amount
from lab.faults.zombies import HIERARCHY, why_not
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger
from necroscope.sources.host import Host
from necroscope.sources.source import Read

PER_SECOND = 1_000
CPU_LIMIT_PERCENT = 1.0
CYCLE = """
import os, sys, time
folder, seconds, rate = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
begin, spent, done = time.monotonic(), 0.0, 0
while (now := time.monotonic()) - begin < seconds:
    if rate and done > (now - begin) * rate:
        time.sleep(1 / rate)
        continue
    os.mkdir(folder + "/0b5c" + str(done))
    os.rmdir(folder + "/0b5c" + str(done))
    spent += time.monotonic() - now
    done += 1
print(done, spent / done * 1e6)
"""


@contextmanager
def parent() -> Iterator[Path]:
    """A cgroup to make others in."""
    folder = HIERARCHY / f"necroscope-bench-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        folder.rmdir()


def cycle(folder: Path, seconds: float, rate: float) -> tuple[int, float]:
    """Make and remove cgroups: how many, and microseconds for each."""
    words = [sys.executable, "-c", CYCLE, str(folder), str(seconds), str(rate)]
    done, spent = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return int(done), float(spent)


def cpu_seconds() -> float:
    """CPU time of all threads of this process."""
    tasks = Path("/proc/self/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def run(read: Read[CgroupLedger], folder: Path, seconds: float, rate: float) -> tuple[float, int]:
    """Read at the source's pace while cgroups come and go: CPU time in percent of a core, cgroups made."""
    words = [sys.executable, "-c", CYCLE if rate else "", str(folder), str(seconds), str(rate)]
    began, used = time.monotonic(), cpu_seconds()
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    started = cpu_seconds() - used  # starting the child is not the ledger's cost
    while time.monotonic() - began < seconds:
        time.sleep(CGROUP_LEDGER.pace_seconds)
        read()
    percent = 100 * (cpu_seconds() - used - started) / (time.monotonic() - began)
    output, _ = child.communicate()
    return percent, int(output.split()[0]) if output else 0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20)
    seconds = parser.parse_args().seconds
    if reason := why_not():
        print(f"not measured: {reason}")
        return
    with parent() as folder:
        _, without = cycle(folder, 2, 0)
        read = CGROUP_LEDGER.open(Host())
        if (reading := read()).value is None:
            print(f"not measured: {reading.reason}")
            return
        idle, _ = run(read, folder, seconds, 0)
        report_amount("the ledger while nothing happens", idle, "% of a core", "limit", CPU_LIMIT_PERCENT)
        busy, made = run(read, folder, seconds, PER_SECOND)
        what = f"the ledger at {made / seconds:,.0f} cgroups a second"
        report_amount(what, busy, "% of a core", "limit", CPU_LIMIT_PERCENT)
        count, traced = cycle(folder, 2, 0)
        report_amount("making and removing one with the ledger", traced, "us", "without", without)
        ledger = read().value
        print(
            f"{count / 2:,.0f} cgroups a second at most; events lost: {ledger.lost if ledger else 'unknown'}"
        )


if __name__ == "__main__":
    main()
