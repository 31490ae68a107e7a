"""Profiles against `perf script`, on a capture made here.

    python benchmarks/bench_profiles.py [seconds of capture]

Targets: from perf.data to a sealed profile in a quarter of perf script's time, at most 1/15 of its size;
a heatmap in 20 ms, the flame graph of 5 s in 100 ms, a difference in 150 ms.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.timing import best_of, report
from necroscope.profiles.import_ import import_file
from necroscope.profiles.scope import scope
from necroscope.profiles.window import Selection, flame, window
from necroscope.store.store import Store, StoredSegment

HERTZ = 20_000
SIZE_TARGET = 1 / 15
LOADS = (
    [sys.executable, "-c", "import itertools\nfor i in itertools.count(): str(i)"],
    ["sh", "-c", "while :; do find /usr >/dev/null; done"],
)


@contextmanager
def load() -> Iterator[None]:
    """One busy loop in user space and one in the kernel, one for every two cores."""
    processes = [subprocess.Popen(LOADS[n % 2], start_new_session=True) for n in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def record(path: Path, seconds: int) -> None:
    """A system-wide capture at a rate far above that of the recorder."""
    command = ["perf", "record", "-q", "-F", str(HERTZ), "-g", "-a", "-m", "4096", "-o", str(path)]
    with load():
        subprocess.run([*command, "--", "sleep", str(seconds)], check=True, capture_output=True)


def perf_script(path: Path, *words: str) -> None:
    """What people do instead."""
    with Path(os.devnull).open("w") as nowhere:
        subprocess.run(
            ["perf", "script", "-i", str(path), *words], check=True, stdout=nowhere, stderr=nowhere
        )


def measure(capture: Path, folder: Path) -> None:
    """Print all rows for one capture."""
    store = Store(folder / "store")
    kallsyms = folder / "kallsyms"
    shutil.copyfile("/proc/kallsyms", kallsyms)

    def seal() -> StoredSegment:
        shutil.rmtree(store.root, ignore_errors=True)
        return import_file(store, capture, kallsyms=kallsyms)

    sealing = best_of(seal, 3)
    segment = seal()
    samples = segment.description.profile.samples
    size = sum(file.bytes or 0 for file in segment.description.files)
    print(f"capture: {capture.stat().st_size / 1e6:.0f} MB, {samples:,} samples")
    script = best_of(lambda: perf_script(capture), 1)
    report("perf.data to sealed profile", sealing, "perf script", script)
    report("perf.data to sealed profile", sealing, "a quarter of perf script", script / 4)
    ratio = size / capture.stat().st_size
    print(f"sealed size: {size / 1e6:.2f} MB; limit: 1/15 of perf.data; ratio {ratio / SIZE_TARGET:.2f}")
    segments = [segment]
    whole = Selection(segment.begin_ns, segment.end_ns + 1)
    report("heatmap of the segment", best_of(lambda: scope(segments, whole)), "limit", 0.020)
    middle = (segment.begin_ns + segment.end_ns) // 2
    five = Selection(middle, middle + 5 * 10**9)
    begin = (middle - segment.offset_ns) / 1e9
    script = best_of(lambda: perf_script(capture, "--time", f"{begin:.6f},{begin + 5:.6f}"), 1)
    for name, selection in (("all cores", five), ("core 1", replace(five, cpus=(1,)))):
        seconds = best_of(lambda selection=selection: flame(window(segments, selection)))  # type: ignore[misc]
        report(f"flame graph of 5 s, {name}", seconds, "limit", 0.100)
        report(f"flame graph of 5 s, {name}", seconds, "perf script --time", script)
    before = replace(five, begin_ns=middle - 5 * 10**9, end_ns=middle)
    seconds = best_of(lambda: flame(window(segments, five), window(segments, before)))
    report("difference, 5 s against 5 s", seconds, "limit", 0.150)


def main() -> None:
    """Record, measure, and show how the time grows with the samples."""
    if os.geteuid() != 0 or not shutil.which("perf"):
        print("not measured: needs root and perf")
        return
    longest = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        for seconds in sorted({max(longest // 10, 1), longest}):
            capture = Path(name) / f"{seconds}.data"
            record(capture, seconds)
            measure(capture, Path(name))


if __name__ == "__main__":
    main()
