"""Questions over generated fleets of 100 to 10,000 hosts and seven days, and how fast parts become tables.

    python benchmarks/bench_fleet.py [--hosts 5000] [--folder DIR] [--parts 5000]

Limits: a question over 5,000 hosts and seven days (25 M segments) in 2 s and 2 GB, the start of the process
included. The peer is one query of plain DuckDB over the same files, also in a process of its own: resets,
exposure and hosts affected by what hosts are made of. pandas, which none of our packages needs, is hidden:
where others have installed it, pyarrow imports it, which takes 0.3 s.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import report, report_amount
from lab.fleets.plan import Leak, Plan, Plant
from lab.fleets.tables import write_fleet
from necroscope.fleet.place.place import Place, open_place
from necroscope.fleet.tables.ingest import ingest
from tests.fleet.seaweed import WEED, seaweed
from tests.fleet.tables.shipped import BEGIN_US, MINUTE_US, put_segment

SIZES = (100, 1000, 5000, 10_000)
LIMIT_SECONDS, LIMIT_BYTES = 2.0, 2e9
RUNS = 3
# What a process took at most is told by itself: what its parent is told includes the parent's own memory.
MEASURED = """
import atexit, pathlib, sys, time

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)

def tell():
    status = pathlib.Path("/proc/self/status").read_text()
    print(status.partition("VmHWM:")[2].split()[0], time.process_time(), file=sys.stderr)

sys.meta_path.insert(0, NoPandas())
atexit.register(tell)
"""
PEER = f"""{MEASURED}
import duckdb
database = duckdb.connect(config={{"memory_limit": "1536MiB"}})
rows = database.read_parquet(sys.argv[1] + "/tables/segments/*.parquet")
affected = "count(DISTINCT host) FILTER (nic_reset > 0)"
rows.aggregate(f"facts, sum(nic_reset), sum(recorded_us), {{affected}}").fetchall()
"""
PROGRAM = f"""{MEASURED}
from necroscope.cli.main import run
run()
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu_seconds: float  # of all cores; on a machine with other work it tells more
    peak_bytes: int


def cost_of(program: str, *words: str) -> Cost:
    """The cheapest of some runs in fresh processes."""
    return min((_run(program, *words) for _ in range(RUNS)), key=lambda cost: cost.seconds)


def _run(program: str, *words: str) -> Cost:
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr}")
    peak_kib, cpu_seconds = done.stderr.splitlines()[-1].split()
    return Cost(seconds, float(cpu_seconds), int(peak_kib) * 1024)


def questions(folder: Path, hosts: int) -> None:
    """One fleet: written, and asked."""
    plan = Plan(
        hosts=hosts,
        end_us=int(time.time()) // 3600 * 3600 * 10**6,
        plants=(Plant("labels/kernel", "5.10.0-9", 4.0, None),),
        leak=Leak(0.1, 40.0),
    )
    began = time.perf_counter()
    index = write_fleet(folder, plan)
    seconds = time.perf_counter() - began
    rows = sum(file.rows for file in index.files if file.table == "segments")
    size = sum(file.bytes for file in index.files)
    print(
        f"{hosts:,} hosts: {rows:,} segments, {size / 1e6:.0f} MB, generated and written in {seconds:.1f} s"
    )
    peer = cost_of(PEER, str(folder))
    for question in ("where", "next"):
        cost = cost_of(PROGRAM, "fleet", question, "--fleet", str(folder), "-b", "7d", "--json")
        what = f"  fleet {question}, {cost.cpu_seconds:.2f} s of CPU"
        report(what, cost.seconds, "limit", LIMIT_SECONDS)
        report(what, cost.seconds, "one plain DuckDB query", peer.seconds)
        report_amount(what, cost.peak_bytes / 1e6, "MB", "limit", LIMIT_BYTES / 1e6)


def ingest_parts(place: Place, what: str, count: int) -> None:
    """How many parts a second become rows."""
    work = [(f"host-{number % 500:03d}", BEGIN_US + number // 500 * 2 * MINUTE_US) for number in range(count)]
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda one: put_segment(place, one[0], one[1], resets=1), work))
    done = ingest(place)
    assert (done.parts, done.added["segments"]) == (count, count)
    pace = count / done.seconds
    print(f"fleet ingest from {what}: {count:,} parts in {done.seconds:.1f} s, {pace:,.0f} a second")


@contextmanager
def s3_place(folder: Path) -> Iterator[Place]:
    """A bucket of a real S3 on this machine."""
    with seaweed(folder) as s3:
        s3.make_bucket("fleet")
        os.environ.update(s3.environment())
        yield open_place(s3.address("fleet"))


def main() -> None:
    """Understand the words, and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, action="append", help=f"(default {SIZES})")
    parser.add_argument("--folder", type=Path, help="where to (default: a temporary one)")
    parser.add_argument("--parts", type=int, default=5000)
    words = parser.parse_args()
    for hosts in words.hosts or SIZES:
        with tempfile.TemporaryDirectory(dir=words.folder) as folder:
            questions(Path(folder) / "fleet", hosts)
    with tempfile.TemporaryDirectory(dir=words.folder) as folder:
        os.environ["NECROSCOPE_FLEET_CACHE"] = f"{folder}/cache"
        (Path(folder) / "place").mkdir()
        ingest_parts(open_place(f"{folder}/place"), "a folder", words.parts)
        if WEED.exists():
            with s3_place(Path(folder)) as place:
                ingest_parts(place, "S3 (SeaweedFS)", words.parts)
        else:
            print("fleet ingest from S3: not measured, SeaweedFS is not installed")


if __name__ == "__main__":
    main()
