"""What the recorder costs, beside the loop of `perf record -- sleep 120` that people run instead.

    python benchmarks/bench_recorder.py [--seconds 200] [--churn] [--cores 96]

Limits: 1 % of one core all in, 40 MB for the long-lived process, one sampling period without samples.

Every core runs a busy loop meanwhile. CPU time is that of the processes, from outside: /proc while they run,
and what wait4 says in the end. What the kernel does in the interrupt of every sample is charged to whoever
ran then, for both alike, and is not in it. The peer takes samples only: no counters, no kernel log, no
events, no symbols, and files that only the same boot can read.

The rest is the counters of a host with many cores (--cores), read by the real sources from generated files,
in a root of their own. What the kernel takes to write such files is not in it. --seconds 0 leaves all but
this out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.large_host import LargeHost
from benchmarks.timing import report_amount
from necroscope import _native
from necroscope.exporter.meter import Meter
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import Watch
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.nic_counters import NIC_COUNTERS
from necroscope.store.journal import moment_frame
from necroscope.store.sampler import Sampler
from necroscope.store.store import Store, StoredSegment

PROGRAM = str(Path(sys.executable).with_name("necroscope"))
HERTZ = 97
CPU_LIMIT_PERCENT = 1.0
MEMORY_LIMIT_MB = 40.0
START_UP_SECONDS = 10.0
LOOK_EVERY_SECONDS = 1.0
LARGE_HOST_SECONDS = 20
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
BUSY = [sys.executable, "-c", "while True: pass"]
CHURN = ["sh", "-c", "while :; do /bin/true; /bin/true; sleep 0.05; done"]


# --- processes from outside -------------------------------------------------------------------------


@dataclass(slots=True)
class Look:
    """CPU seconds of a process and of all that it started, at one moment."""

    at: float
    own: float
    ended: float  # children that it has waited for
    live: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # the others, by name

    @property
    def total(self) -> float:
        """All of it."""
        return self.own + self.ended + sum(self.live.values())


def look_at(pid: int) -> Look:
    """Read the CPU time of a process and of its descendants; one that ends meanwhile is left out."""
    _, own, ended = _times(pid)
    look = Look(time.monotonic(), own, ended)
    for child in descendants(pid):
        with suppress(OSError):
            name, own, ended = _times(child)
            look.live[name] += own + ended
    return look


def _times(pid: int) -> tuple[str, float, float]:
    head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    user, system, children_user, children_system = (int(word) for word in tail.split()[11:15])
    ended = (children_user + children_system) / TICKS_PER_SECOND
    return head.partition("(")[2], (user + system) / TICKS_PER_SECOND, ended


def descendants(pid: int) -> Iterator[int]:
    """All processes that a process has started and not waited for."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                yield child
                yield from descendants(child)


def named(pid: int, name: str) -> int | None:
    """The descendant of that name."""
    for child in descendants(pid):
        with suppress(OSError):
            if Path(f"/proc/{child}/comm").read_text().strip() == name:
                return child
    return None


def memory_mb(pid: int | None, file: str, key: str) -> float:
    """A field of /proc/PID/status or smaps_rollup; 0 where the process is gone."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/{file}").read_text().partition(f"{key}:")[2].split()[0]) * 1024 / 1e6
    return 0.0


@dataclass(slots=True)
class Watched:
    """What was seen of a process from its start until it was told to stop."""

    began: float
    looks: list[Look] = field(default_factory=list)
    resident_mb: float = 0.0
    proportional_mb: float = 0.0
    peak_mb: float = 0.0
    perf_peak_mb: float = 0.0
    whole_cpu_seconds: float = 0.0  # from wait4, the end included
    largest_mb: float = 0.0  # of the process and all that it waited for
    seconds: float = 0.0

    @property
    def started(self) -> Look:
        """The look at the end of the start-up."""
        return next(look for look in self.looks if look.at - self.began >= START_UP_SECONDS)

    @property
    def last(self) -> Look:
        """The look just before the stop."""
        return self.looks[-1]

    @property
    def steady_seconds(self) -> float:
        """From the end of the start-up until the stop."""
        return self.last.at - self.started.at


def watch(process: subprocess.Popen[bytes], seconds: float) -> Watched:
    """Look at a process once a second."""
    watched = Watched(time.monotonic())
    while time.monotonic() - watched.began < seconds:
        time.sleep(LOOK_EVERY_SECONDS)
        if process.poll() is not None:
            raise SystemExit(f"it ended by itself: {process.args!r}")
        watched.looks.append(look_at(process.pid))
        perf = named(process.pid, "perf")
        watched.perf_peak_mb = max(watched.perf_peak_mb, memory_mb(perf, "status", "VmHWM"))
    watched.resident_mb = memory_mb(process.pid, "status", "VmRSS")
    watched.peak_mb = memory_mb(process.pid, "status", "VmHWM")
    watched.proportional_mb = memory_mb(process.pid, "smaps_rollup", "Pss")
    watched.seconds = time.monotonic() - watched.began
    return watched


def wait(process: subprocess.Popen[bytes], watched: Watched) -> None:
    """Wait for a process that was told to stop, and keep what the kernel says of it."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    watched.whole_cpu_seconds = used.ru_utime + used.ru_stime
    watched.largest_mb = used.ru_maxrss * 1024 / 1e6


@contextmanager
def loads(*, churn: bool) -> Iterator[None]:
    """Keep every core busy."""
    commands = [BUSY] * (os.cpu_count() or 1) + [CHURN] * churn
    processes = [subprocess.Popen(command, start_new_session=True) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


# --- the recorder -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Result:
    """One column of the table."""

    steady_percent: float
    parts_percent: Mapping[str, float]
    start_up_seconds: float  # of CPU
    whole_percent: float
    resident_mb: float
    bytes_per_minute: float
    gaps: Sequence[float]  # seconds without samples of a core, from one file to the next


def run_recorder(store: Path, seconds: int, segment: int) -> Result:
    """Record, and say what it cost."""
    output = store.with_name("answer.json")
    words = ["record", "--json", "--config", "/dev/null", "--store", str(store)]
    words += ["--segment", f"{segment}s", "--rate", str(HERTZ)]
    with output.open("wb") as answer:
        process = subprocess.Popen([PROGRAM, *words], stdout=answer, stderr=subprocess.DEVNULL)
        try:
            watched = watch(process, seconds)
            process.send_signal(signal.SIGTERM)
            wait(process, watched)
        finally:
            _end(process)
    body = json.loads(output.read_text())
    segments = Store(store).segments()
    _print_recorder(body, watched, segments)
    first, last, span = watched.started, watched.last, watched.steady_seconds
    # All segments but the last were closed and sealed between the two: each is paid for by its own seconds.
    sealed = sum(one.end_ns - one.begin_ns for one in segments[:-1]) / 1e9
    sealing = last.total - last.own - last.live["perf"] - (first.total - first.own - first.live["perf"])
    parts = {
        "the long-lived process": (last.own - first.own) / span,
        "perf": (last.live["perf"] - first.live["perf"]) / span,
        "sealing children": sealing / sealed if sealed else 0.0,
    }
    sizes = [path.stat().st_size for one in segments for path in one.folder.rglob("*") if path.is_file()]
    recorded = sum(one.end_ns - one.begin_ns for one in segments) / 6e10
    return Result(
        steady_percent=100 * sum(parts.values()),
        parts_percent={name: 100 * share for name, share in parts.items()},
        start_up_seconds=first.total,
        whole_percent=100 * watched.whole_cpu_seconds / watched.seconds,
        resident_mb=watched.resident_mb,
        bytes_per_minute=sum(sizes) / recorded,
        gaps=_gaps_of([_spans(one) for one in segments]),
    )


def _print_recorder(body: Mapping[str, Any], watched: Watched, segments: Sequence[StoredSegment]) -> None:
    costs = body["costs"]
    own = ", ".join(f"{name} {cost['cpu_seconds']:.2f} s" for name, cost in costs.items())
    total = sum(cost["cpu_seconds"] for cost in costs.values())
    why = ", ".join(one.description.ended for one in segments)
    print(f"the recorder: {body['moments']} seconds, {len(segments)} segments ({why})")
    if body["perf_starts"] > 1:
        print(f"  perf was started {body['perf_starts']} times: its share below is too small")
    print(f"  CPU in all by its own count: {total:.2f} s ({own})")
    print(
        f"  CPU in all by wait4: {watched.whole_cpu_seconds:.2f} s,"
        f" of it {watched.started.total:.2f} s in the first {START_UP_SECONDS:g}"
    )
    print(
        f"  memory of the long-lived process: resident {watched.resident_mb:.1f} MB, its share of what is"
        f" shared {watched.proportional_mb:.1f} MB, peak {watched.peak_mb:.1f} MB"
    )
    print(f"  peak of perf {watched.perf_peak_mb:.1f} MB; of the largest process {watched.largest_mb:.1f} MB")
    problems = [body[name] for name in ("store_error", "profiling_error") if body[name]]
    if body["gaps"] or problems:
        print(f"  holes: {body['gaps']}, {body['gap_seconds']:.1f} s; {'; '.join(problems)}")


Spans = Mapping[int, tuple[float, float]]  # the first and the last sample of every core


def _spans(segment: StoredSegment) -> Spans:
    rows = segment.description.profile.per_core
    return {core: (first_ns / 1e9, last_ns / 1e9) for core, _, first_ns, last_ns, _ in rows}


def _gaps_of(files: Sequence[Spans]) -> list[float]:
    return [
        after[core][0] - before[core][1]
        for before, after in pairwise(files)
        for core in before
        if core in after
    ]


# --- the peer ---------------------------------------------------------------------------------------


def run_loop(folder: Path, seconds: int, turn: int) -> Result:
    """The loop, and what it cost."""
    folder.mkdir()
    command = f"perf record -F {HERTZ} -g -a -o perf-$((n++)).data -- sleep {turn}"
    loop = f"n=0; while [ ! -e stop ]; do {command}; done"
    process = subprocess.Popen(["bash", "-c", loop], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        watched = watch(process, seconds)
        (folder / "stop").touch()
        if sleep := named(process.pid, "sleep"):
            os.kill(sleep, signal.SIGTERM)  # perf then ends its file as it always does
        wait(process, watched)
    finally:
        _end(process)
    files = sorted(folder.glob("perf-*.data"), key=lambda path: path.stat().st_mtime)
    spans = [_spans_of_file(path) for path in files]
    first, last = watched.started, watched.last
    sampled = sum(max(s[1] for s in file.values()) - min(s[0] for s in file.values()) for file in spans)
    lost = sum(not _is_finished(path) for path in files)
    broken = f", {lost} of which perf aborted on and cannot read" if lost else ""
    print(f"the loop: {len(files)} files{broken}; peak of perf {watched.perf_peak_mb:.1f} MB")
    return Result(
        steady_percent=100 * (last.total - first.total) / watched.steady_seconds,
        parts_percent={},
        start_up_seconds=first.total,
        whole_percent=100 * watched.whole_cpu_seconds / watched.seconds,
        resident_mb=watched.perf_peak_mb,
        bytes_per_minute=sum(path.stat().st_size for path in files) / (sampled / 60),
        gaps=_gaps_of(spans),
    )


def _spans_of_file(path: Path) -> Spans:
    """The first and the last sample of every core; our reader also reads a file that perf did not finish."""
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as folder:
        facts = _native.import_perf_data(path, folder, kallsyms=None, root="/", idle=[], interrupt=[])
    return {core: (first_ns / 1e9, last_ns / 1e9) for core, _, first_ns, last_ns, _ in facts["per_core"]}


def _is_finished(path: Path) -> bool:
    """Whether perf can read its file. perf 6.1 was seen to abort over build ids at the end of a capture,
    before it wrote how much data there is; the recorder's perf does not collect them in that way.
    """
    with path.open("rb") as file:
        return struct.unpack_from("<Q", file.read(104), 48) != (0,)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a run that was broken off."""
    if process.returncode is None:
        for child in [*descendants(process.pid), process.pid]:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.wait()


# --- the counters of many cores ---------------------------------------------------------------------


def measure_counters(cores: int) -> None:
    """In this process, which gets a root of its own: a second's counters from reading to the journal."""
    large = LargeHost(Path(), cores)
    thresholds = load_thresholds(None)
    watch_events = Watch(thresholds)
    watch_events(
        Sampler(Host(Path.cwd())).read()
    )  # brings in all files of ours, which the other root has not
    os.chroot(".")
    sources = [replace(s, open=large.open_nic_counters) if s is NIC_COUNTERS else s for s in SOURCES]
    sampler = Sampler(Host(), sources)
    meter = Meter(thresholds)
    spent: dict[str, list[float]] = defaultdict(list)
    costs: dict[str, list[int]] = defaultdict(list)
    absent: dict[str, str] = {}
    for second in range(LARGE_HOST_SECONDS):
        began = time.process_time()
        moment = sampler.read()
        read = time.process_time()
        size = len(moment_frame(moment))
        written = time.process_time()
        meter.observe(moment, watch_events(moment))
        seen = time.process_time()
        for name, reading in moment.readings.items():
            if reading.absence:
                absent[name] = reading.reason
        if second:  # in the first second all sources are read, and nothing is warm
            for name, cost_ns in moment.cost_ns.items():
                costs[name].append(cost_ns)
            spent["reading"].append(read - began)
            spent["journal"].append(written - read)
            spent["looking for events, metrics"].append(seen - written)
        large.advance()
        time.sleep(max(1 - (time.process_time() - began), 0.5))
    sums = {name: 1e3 * statistics.mean(times) for name, times in spent.items()}
    print(f"the counters of {cores} cores, {size / 1e3:.0f} kB of journal a second:")
    for name, milliseconds in sums.items():
        print(f"  {name:28} {milliseconds:6.2f} ms a second")
    by_cost = sorted(costs, key=lambda name: -statistics.median(costs[name]))
    print(
        "  of the reading: " + ", ".join(f"{n} {statistics.median(costs[n]) / 1e6:.2f}" for n in by_cost[:7])
    )
    if absent:
        print(f"  not there: {', '.join(f'{name} ({reason})' for name, reason in absent.items())}")
    total = sum(sums.values()) / 10
    report_amount(f"the counters of {cores} cores", total, "% of a core", "limit", CPU_LIMIT_PERCENT)


# --- all of it --------------------------------------------------------------------------------------


def print_table(ours: Result, loop: Result) -> None:
    """Both side by side, and the ratios."""
    rows = [
        ("CPU, % of one core, without start-up and end", ours.steady_percent, loop.steady_percent),
        *((f"  {name}", share, None) for name, share in ours.parts_percent.items()),
        ("CPU, % of one core, the whole run", ours.whole_percent, loop.whole_percent),
        ("CPU of the first 10 s, s", ours.start_up_seconds, loop.start_up_seconds),
        ("memory of the long-lived process (the loop: perf), MB", ours.resident_mb, loop.resident_mb),
        ("on disk, kB a minute", ours.bytes_per_minute / 1e3, loop.bytes_per_minute / 1e3),
        ("longest time without a sample between two files, ms", *(_worst(r) for r in (ours, loop))),
    ]
    print(f"{'':56}{'necroscope':>12}{'the loop':>12}")
    for name, one, other in rows:
        print(f"{name:56}{one:>12.3f}{'' if other is None else f'{other:.3f}':>12}")
    cores = f"{os.cpu_count()} busy cores"
    report_amount(f"CPU, {cores}", ours.steady_percent, "% of a core", "limit", CPU_LIMIT_PERCENT)
    report_amount(f"CPU, {cores}", ours.steady_percent, "% of a core", "the loop", loop.steady_percent)
    report_amount("memory of the long-lived process", ours.resident_mb, "MB", "limit", MEMORY_LIMIT_MB)
    report_amount("on disk", ours.bytes_per_minute / 1e3, "kB/min", "the loop", loop.bytes_per_minute / 1e3)
    report_amount("time without a sample", _worst(ours), "ms", "a sampling period", 1e3 / HERTZ)
    report_amount("time without a sample", _worst(ours), "ms", "the loop", _worst(loop))


def _worst(result: Result) -> float:
    return 1e3 * max(result.gaps, default=0.0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=200, help="of each of the two; 180 or more to tell")
    parser.add_argument("--segment", type=int, default=120, help="seconds of a segment, and of a turn")
    parser.add_argument("--churn", action="store_true", help="also start some 40 programs a second")
    parser.add_argument("--cores", type=int, default=96, help="of the generated host")
    parser.add_argument("--in-own-root", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.in_own_root:
        measure_counters(arguments.cores)
        return
    if 0 < arguments.seconds < 2 * START_UP_SECONDS:
        parser.error(f"--seconds: 0, or {2 * START_UP_SECONDS:g} or more")
    if os.geteuid() != 0 or not shutil.which("perf"):
        print("not measured: needs root and perf")
        return
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        if arguments.seconds:
            with loads(churn=arguments.churn):
                ours = run_recorder(Path(name) / "store", arguments.seconds, arguments.segment)
                loop = run_loop(Path(name) / "loop", arguments.seconds, arguments.segment)
            print_table(ours, loop)
        tree = Path(name) / "tree"
        tree.mkdir()
        words = [
            sys.executable,
            str(Path(__file__).resolve()),
            "--in-own-root",
            "--cores",
            str(arguments.cores),
        ]
        here = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(p).resolve()) for p in sys.path if p)}
        subprocess.run(words, check=True, cwd=tree, env=here)


if __name__ == "__main__":
    main()
