"""What `doctor` takes beyond its sampling time, and what each source costs a second.

Target: 0.5 s beyond the sampling time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.timing import best_of, report
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.store.sampler import sample

PROGRAM = str(Path(sys.executable).with_name("necroscope"))
BEYOND_LIMIT_SECONDS = 0.5
SECOND = 1.0


def main() -> None:
    """Measure and print."""
    whole = best_of(
        lambda: subprocess.run([PROGRAM, "doctor", "-d", "2s"], check=False, capture_output=True), 3
    )
    report("doctor beyond 2 s of sampling", whole - 2, "limit", BEYOND_LIMIT_SECONDS)
    before = resource.getrusage(resource.RUSAGE_SELF)
    segment = sample(Host(), 5, lambda done, total: None)
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report("CPU time of a second of looking", used / segment.seconds, "a core's second", SECOND)
    for source in SOURCES:
        costs = [m.cost_ns[source.id] for m in segment.moments[1:] if source.id in m.cost_ns]
        if costs:  # others are read once
            print(f"  {source.id:16} {median(costs) / 1e6:7.3f} ms a reading")


if __name__ == "__main__":
    main()
