"""The audit of a tree, its packages, a snapshot, and how drift grows with hosts.

Peers: systemctl --root and dpkg -S, which answer a part of the same question; parsing the same snapshots with
Python's json, below which drift cannot come. Limit of a snapshot: a second.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import best_of, report, report_amount
from lab.snapshots import Plan, make_fleet, write_fleet
from necroscope.inventory.snapshot import take_snapshot
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import find_owners
from necroscope.sources.systemd.unit_files import read_unit_files

PROGRAM = Path(sys.executable).with_name("necroscope")
SNAPSHOT_SECONDS = 1.0
FACTS = 3_000
FLEETS = (125, 500, 2_000)

# From a small process: a child is charged with the memory that its parent had when it was made.
WITH_MEMORY = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def run(command: list[str]) -> None:
    """Run it for its time only."""
    subprocess.run(command, check=False, capture_output=True)


def measure_this_machine() -> None:
    """Unit files, packages, the snapshot."""
    host = Host()
    if shutil.which("systemctl"):
        peer = best_of(lambda: run(["systemctl", "--root=/", "list-unit-files", "--no-pager"]), 3)
        report("states of all unit files", best_of(lambda: read_unit_files(host)), "systemctl --root", peer)
    paths = [file.path for file in read_unit_files(host).value or ()]
    if shutil.which("dpkg") and paths:
        peer = best_of(lambda: run(["dpkg", "-S", *paths]), 3)
        report(
            f"owners of {len(paths)} unit files", best_of(lambda: find_owners(host, paths)), "dpkg -S", peer
        )
    report("a snapshot of this machine", best_of(lambda: take_snapshot(host), 3), "limit", SNAPSHOT_SECONDS)


def measure_drift(hosts: int) -> None:
    """One question over a fleet, against reading its files."""
    with tempfile.TemporaryDirectory() as folder:
        groups = write_fleet(make_fleet(1, Plan(hosts=hosts, facts=FACTS)), Path(folder))
        words = [word for name, place in groups.items() for word in ("--group", f"{name}={place}")]
        command = [sys.executable, "-c", WITH_MEMORY, str(PROGRAM), "drift", "--json", *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        ours, peak_kib = map(float, done.stdout.split())
        began = time.perf_counter()
        for path in Path(folder).rglob("*.json"):
            json.loads(path.read_bytes())
        report(f"drift over {hosts:,} hosts", ours, "json.loads of the files", time.perf_counter() - began)
    report_amount("  its memory", peak_kib / 1024, "MiB", "limit of a fleet question", 2_000)


def main() -> None:
    """Measure and print."""
    measure_this_machine()
    for hosts in FLEETS:
        measure_drift(hosts)


if __name__ == "__main__":
    main()
