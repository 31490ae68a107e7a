"""How the time from perf.data to a sealed profile grows with the number of samples, 0.1 M to 5 M.

python benchmarks/bench_growth.py [seconds of the longest capture]
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_profiles import record
from benchmarks.timing import best_of
from necroscope.profiles.import_ import import_file
from necroscope.store.store import Store, StoredSegment


def main() -> None:
    """Record ever longer, and import each capture."""
    if os.geteuid() != 0 or not shutil.which("perf"):
        print("not measured: needs root and perf")
        return
    longest = int(sys.argv[1]) if len(sys.argv) > 1 else 126
    first = 0.0
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        for seconds in (max(longest // 42, 1), max(longest // 10, 2), longest // 3, longest):
            capture = Path(name) / f"{seconds}.data"
            record(capture, seconds)
            store = Store(Path(name) / f"store-{seconds}")

            def seal(store: Store = store, capture: Path = capture) -> StoredSegment:
                shutil.rmtree(store.root, ignore_errors=True)
                return import_file(store, capture)

            taken = best_of(seal, 2)
            samples = seal().description.profile.samples
            per_sample = taken / samples
            first = first or per_sample
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{samples:>9,} samples, {capture.stat().st_size / 1e6:4.0f} MB: {taken:.3f} s,"
                f" {per_sample * 1e6:.2f} us a sample, ratio to the first {per_sample / first:.2f},"
                f" largest memory so far {memory:.0f} MiB"
            )
            capture.unlink()


if __name__ == "__main__":
    main()
