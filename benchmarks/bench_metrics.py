"""What metrics cost: a moment, a scrape, and to find out what is wrong now.

    python benchmarks/bench_metrics.py

The counters are read by the real sources, from this machine and from a generated host with 96 cores
(large_host.py): 120 times, which stand for a segment of 120 s, and that for five of one boot. They are fed to
the fold that the recorder has, and read from a store as by a recorder that starts. There are no samples.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.large_host import CORES_COUNT, LargeHost
from benchmarks.timing import best_of, report, report_amount
from necroscope.exporter.exposition import render
from necroscope.exporter.meter import Meter
from necroscope.findings.active_findings import ActiveFindings
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.nic_counters import NIC_COUNTERS
from necroscope.sources.source import Source
from necroscope.store.sampler import Sampler
from necroscope.store.segment import Moment
from tests.segments import BEGIN_NS
from tests.stored import BOOT_ID, HOST, anchor_at, sealed_segment

SEGMENT_SECONDS, TURNS = 120, 5
EXAMINATION_LIMIT_PERCENT = 0.3
MOMENT_LIMIT_SECONDS = 1e-3
NO_CONFIG = Path("/dev/null")


def read_large(tree: Path) -> list[Moment]:
    """What the real sources say of the generated host in the seconds of one segment."""
    large = LargeHost(tree)
    sources = [replace(s, open=large.open_nic_counters) if s is NIC_COUNTERS else s for s in SOURCES]
    return read_segment(Host(tree), sources, large.advance)


def read_segment(
    host: Host, sources: Sequence[Source[Any]] = SOURCES, advance: Callable[[], object] = lambda: None
) -> list[Moment]:
    """The seconds of one segment, as fast as they can be read."""
    fast = Sampler(host, [source for source in sources if source.pace_seconds <= 1])
    slow = Sampler(host, [source for source in sources if source.pace_seconds > 1])
    moments = []
    for second in range(SEGMENT_SECONDS + 1):
        read = [fast.read(everything=True), *([slow.read(everything=True)] if second % 60 == 0 else ())]
        readings = {name: reading for one in read for name, reading in one.readings.items()}
        costs = {name: cost for one in read for name, cost in one.cost_ns.items()}
        moments.append(Moment(BEGIN_NS + second * SECOND_NS, readings, costs))
        advance()
    return moments


def shifted(moments: Sequence[Moment], segments: int) -> list[Moment]:
    """The same so many segments later."""
    by_ns = segments * SEGMENT_SECONDS * SECOND_NS
    return [replace(moment, time_ns=moment.time_ns + by_ns) for moment in moments]


def measure_meter(moments: Sequence[Moment], cores: int) -> None:
    """A moment and a scrape."""
    spent = []
    meter = Meter(load_thresholds(None))
    for turn in range(6):
        for moment in shifted(moments, turn):
            began = time.perf_counter()
            meter.observe(moment)
            spent.append(time.perf_counter() - began)
    report(f"a moment of {cores} cores", median(spent), "a thousandth of a second", MOMENT_LIMIT_SECONDS)
    scrape = best_of(lambda: render(meter))
    report(f"a scrape of {cores} cores", scrape, "a thousandth of a second", MOMENT_LIMIT_SECONDS)


def measure_examination(moments: Sequence[Moment], cores: int) -> None:
    """Find out what is wrong now, as the recorder does."""
    fold, spent = ActiveFindings(load_thresholds(NO_CONFIG)), 0.0
    for turn in range(TURNS):
        for moment in shifted(moments, turn):
            began = time.thread_time()
            if fold.feed(moment, (), ()):
                fold.examine(0)
            spent += time.thread_time() - began
    share = 100 * spent / (TURNS * SEGMENT_SECONDS)
    report_amount(f"to examine {cores} cores", share, "% of a core", "limit", EXAMINATION_LIMIT_PERCENT)


def measure_restart(folder: Path, moments: Sequence[Moment], cores: int) -> None:
    """Read the last ten minutes, once at the start of a recorder."""
    store = folder / f"store-{cores}"
    for turn in range(TURNS):
        later = shifted(moments, turn)
        sealed_segment(store, later, anchor=anchor_at(later[0].time_ns))
    began = time.process_time()
    fold = ActiveFindings(load_thresholds(NO_CONFIG))
    if problems := fold.rebuild(store / HOST, BOOT_ID, later[-1].time_ns):
        raise SystemExit(f"it was not read: {problems}")
    print(f"ten minutes of {cores} cores at once, after a start: {time.process_time() - began:.2f} s of CPU")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        tree = Path(name) / "tree"
        tree.mkdir()
        hosts = ((os.cpu_count() or 1, read_segment(Host())), (CORES_COUNT, read_large(tree)))
        for cores, moments in hosts:
            measure_meter(moments, cores)
            measure_examination(moments, cores)
            measure_restart(Path(name), moments, cores)


if __name__ == "__main__":
    main()
