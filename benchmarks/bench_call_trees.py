"""Merging the call trees of 50 segments: 57 million samples, 20,000 stacks each with numbers of its own.

    python benchmarks/bench_call_trees.py [--segments 50] [--ray]

Target: 1.5 s in one process on two cores, against pyarrow and numpy in the same run; the same answer on Ray,
faster with every worker, and with a node killed in the middle. `--ray` starts real clusters of one, two and
three nodes with one CPU each (needs root); on two cores the third node cannot help.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.timing import best_of, report
from necroscope.fleet.call_trees import CallTrees, ProfilePart, merge_call_trees
from necroscope.fleet.engine.engine import LocalEngine
from necroscope.profiles.window import Split

TARGET_SECONDS = 1.5
END_NS = 1 << 62
GENERATE = ("cargo", "build", "--release", "--quiet", "--locked", "--example", "fleet_segments")
PROGRAM = Path(__file__).parents[1] / "target/release/examples/fleet_segments"


def generate(folder: Path, count: int) -> list[Path]:
    """The profiles; a host's numbers for stacks and functions are its own."""
    subprocess.run(GENERATE, check=True)
    subprocess.run([PROGRAM, folder, str(count)], check=True)
    return [folder / str(number) for number in range(count)]


def merge(folders: list[Path], split: Split = "whole") -> CallTrees:
    """Ours, in this process."""
    return merge_call_trees(LocalEngine(), parts(folders), split)


def parts(folders: list[Path]) -> list[ProfilePart]:
    """All samples of all profiles."""
    return [ProfilePart(folder, 0, END_NS, idle=True) for folder in folders]


def merge_with_pyarrow(folders: list[Path]) -> dict[str, int]:
    """What people write: count each file's stacks, fold each stack once, add up by the folded name."""
    found = []
    for folder in folders:
        stacks = pq.read_table(folder / "samples.parquet", columns=["stack"]).column("stack")
        counts = np.bincount(stacks.to_numpy())
        lists = pq.read_table(folder / "stacks.parquet", columns=["frames"]).column("frames").combine_chunks()
        names = pq.read_table(folder / "frames.parquet", columns=["name"]).column("name").combine_chunks()
        seen = np.flatnonzero(counts)
        named = pa.ListArray.from_arrays(lists.offsets, names.take(lists.values))
        folded = pc.binary_join(named, ";").take(pa.array(seen))
        found.append(pa.table({"stack": folded, "count": counts[seen]}))
    summed = pa.concat_tables(found).group_by("stack").aggregate([("count", "sum")])
    return dict(zip(summed.column("stack").to_pylist(), summed.column("count_sum").to_pylist(), strict=True))


def as_folded(trees: CallTrees) -> dict[str, int]:
    """To compare."""
    return {";".join(stack): count for stack, count in trees.window().stacks.folded()}


def measure_local(folders: list[Path]) -> CallTrees:
    """Print the rows of one process."""
    trees = merge(folders)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    samples = f"{len(folders)} segments, {trees.samples:,} samples"
    assert as_folded(trees) == merge_with_pyarrow(folders), "a stack or a count differs"
    ours = best_of(lambda: merge(folders), 3)
    peer = best_of(lambda: merge_with_pyarrow(folders), 3)
    report(f"merged, {samples}", ours, "target", TARGET_SECONDS * len(folders) / 50)
    report("merged", ours, "pyarrow and numpy", peer)
    report("merged by process name as well", best_of(lambda: merge(folders, "comm"), 1), "merged", ours)
    print(f"at most {peak:,.0f} MiB; load {os.getloadavg()[0]:.1f}")
    return trees


def measure_ray(folder: Path, count: int) -> None:
    """Print the rows of clusters of one to three nodes, and with one of three killed in the middle."""
    from tests.fleet.ray_cluster import NAMES, RayCluster, ray_cluster

    driver = (
        sys.executable,
        str(Path(__file__).resolve()),
        "--driver",
        str(folder),
        "--segments",
        str(count),
    )

    def run(cluster: RayCluster, *, kill_after_seconds: float | None = None) -> float:
        once = ("--repeats", "1") if kill_after_seconds is not None else ()
        with cluster.start("head", *driver, *once) as process:
            assert process.stdout
            if process.stdout.readline() != "begun\n":
                raise RuntimeError(process.stderr and process.stderr.read())
            if kill_after_seconds is not None:
                time.sleep(kill_after_seconds)
                cluster.kill("third")
            line = process.stdout.readline()
        return float(line)

    for nodes in (1, 2, 3):
        with ray_cluster(NAMES[:nodes], dashboard=False) as cluster:
            print(f"Ray, {nodes} nodes of one CPU: {run(cluster):.2f} s")
            if nodes == 3:
                print(
                    f"Ray, one of 3 nodes killed in the middle: {run(cluster, kill_after_seconds=0.5):.2f} s"
                )


def drive(folder: Path, count: int, repeats: int) -> None:
    """What runs on the head: the same merge by the cluster, warm; the best of some runs is told."""
    from necroscope.fleet.engine.ray_tasks import ray_engine

    folders = [folder / str(number) for number in range(count)]
    wanted = merge(folders)
    with ray_engine("auto") as engine:
        merge_call_trees(engine, parts(folders))
        print("begun", flush=True)
        found, seconds = [], []
        for _ in range(repeats):
            began = time.monotonic()
            found.append(merge_call_trees(engine, parts(folders)))
            seconds.append(time.monotonic() - began)
    assert all(one == wanted for one in found), "not the same answer as in one process"
    print(min(seconds), flush=True)


def main() -> None:
    """Print all rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--segments", type=int, default=50)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--repeats", type=int, default=5, help=argparse.SUPPRESS)
    parser.add_argument("--driver", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.driver:
        drive(arguments.driver, arguments.segments, arguments.repeats)
        return
    with tempfile.TemporaryDirectory() as name:
        folders = generate(Path(name), arguments.segments)
        measure_local(folders)
        if arguments.ray:
            measure_ray(Path(name), arguments.segments)


if __name__ == "__main__":
    main()
