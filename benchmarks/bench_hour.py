"""An hour of a host with 96 cores: its size on disk, and the time to every picture of it.

    python benchmarks/bench_hour.py [--quick] [--seal] [--before TREE]

--seal measures only what sealing costs, and with --before beside the program in another source tree (with its
native core built): the same segment is sealed by both in turn, and the ratio is the median of the pairs.

Limits: a heatmap in 20 ms a segment, the flame graph of 5 s in 100 ms, the profile in 1/15 of perf.data.

The samples are of one real capture of this machine, at the rate that all cores of the large host have
together; their core is rewritten. The counters are read by the real sources from a generated tree, go
through the real journal, and are sealed by the real sealing child. The hour is 30 copies of that segment,
each with a clock (and a boot) of its own: times in the files are on the segment's clock, so that no file has
to change. What the few programs of the capture do not have is the number of different stacks of a real host.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from benchmarks.bench_profiles import load
from benchmarks.large_host import CORES_COUNT, STUCK_CORE, LargeHost
from benchmarks.timing import report, report_amount
from necroscope.agent.output import Workshop
from necroscope.agent.rolling import RollingSegments
from necroscope.agent.sealer import Sealer
from necroscope.agent.writer import Writer
from necroscope.model.labels import Labels
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS, iso_utc
from necroscope.profiles.scope import scope
from necroscope.profiles.window import Selection, flame, window
from necroscope.signals.core_states import core_states
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import Watch
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.sources.nic_counters import NIC_COUNTERS
from necroscope.store.child import OURSELVES
from necroscope.store.clock import Anchor
from necroscope.store.sampler import Sampler
from necroscope.store.segment import Moment
from necroscope.store.store import CAPTURE, DESCRIPTION, Store, StoredSegment, segment_names
from necroscope.store.stored_events import events_between

HERTZ = 97
SEGMENT_SECONDS = 120
SEGMENTS = 30
BEGIN_NS = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()) * SECOND_NS
HEATMAP_LIMIT_SECONDS = 0.020
FLAME_LIMIT_SECONDS = 0.100
SIZE_TARGET = 1 / 15
BUDGET_BYTES = 8 << 30  # what `record` keeps by default
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = str(Path(sys.executable).with_name("necroscope"))


def capture(path: Path, seconds: int) -> None:
    """As many samples a second as all cores of the large host have."""
    hertz = CORES_COUNT * HERTZ // (os.cpu_count() or 1)
    command = ["perf", "record", "-q", "-F", str(hertz), "-g", "-a", "-m", "4096", "-k", "CLOCK_MONOTONIC"]
    with load():
        subprocess.run(
            [*command, "--buildid-mmap", "-o", str(path), "--", "sleep", str(seconds)],
            check=True,
            capture_output=True,
        )


SAMPLE = 9
PLACED = (1 << 16, 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 6, 1 << 9, 1 << 7)  # fields in their order
TIME, CPU = 1 << 2, 1 << 7


def spread(path: Path, repeats: int, period_ns: int) -> tuple[int, int]:
    """Give the samples of each core of a capture to many in turn, and repeat them; the file is changed.

    How many there are, and the time of the first.
    """
    data = bytearray(path.read_bytes())
    _, _, _, attrs_offset, _, begin, size = struct.unpack_from("<8s6Q", data)
    (sample_type,) = struct.unpack_from("<Q", data, attrs_offset + 24)
    fields = [bits for bits in PLACED if sample_type & bits]
    time_at, cpu_at = (8 + 8 * fields.index(bits) for bits in (TIME, CPU))
    each = CORES_COUNT // (os.cpu_count() or 1)
    seen: dict[int, int] = defaultdict(int)
    places: list[tuple[int, int]] = []
    at = begin
    while at < begin + size:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == SAMPLE:
            (core,) = struct.unpack_from("<I", data, at + cpu_at)
            struct.pack_into("<I", data, at + cpu_at, core * each + seen[core] % each)
            seen[core] += 1
            places.append((at, length))
        at += length
    times = [struct.unpack_from("<Q", data, place + time_at)[0] for place, _ in places]
    if repeats > 1:
        records = data[begin : begin + size]
        for turn in range(1, repeats):
            for (place, length), time_ns in zip(places, times, strict=True):
                record = data[place : place + length]
                struct.pack_into("<Q", record, time_at, time_ns + turn * period_ns)
                records += record
        struct.pack_into("<Q", data, 48, len(records))
        data[72:104] = bytes(32)  # features stand behind the data: without them nothing has to move
        data = data[:begin] + records
    path.write_bytes(data)
    return len(places) * repeats, min(times)


def read_moments(tree: Path, begin_ns: int) -> Iterator[Moment]:
    """What the real sources say of the generated host, second by second."""
    large = LargeHost(tree)
    sources = [replace(s, open=large.open_nic_counters) if s is NIC_COUNTERS else s for s in SOURCES]
    fast = Sampler(Host(tree), [source for source in sources if source.pace_seconds <= 1])
    slow = Sampler(Host(tree), [source for source in sources if source.pace_seconds > 1])
    for second in range(SEGMENT_SECONDS + 1):
        moment = fast.read(everything=True)
        readings, costs = dict(moment.readings), dict(moment.cost_ns)
        if second % 60 == 0:
            rare = slow.read(everything=True)
            readings, costs = {**readings, **rare.readings}, {**costs, **rare.cost_ns}
        yield Moment(begin_ns + second * SECOND_NS, readings, costs)
        large.advance()


def record(store: Path, perf_data: Path, tree: Path, begin_ns: int) -> None:
    """One segment through the journal, as the recorder makes it; it is left open."""
    moments = read_moments(tree, begin_ns)
    first = next(moments)
    labels = first.readings[INSTANCE.id].value or Labels()
    folder = Store(store).host_folder(labels.hostname)
    folder.mkdir(parents=True)
    sealer = Sealer(["true"], SEGMENT_SECONDS)
    output = RollingSegments(Workshop(folder, labels, Writer(), sealer, None), SEGMENT_SECONDS * 2)
    watch = Watch(load_thresholds(None))
    anchor = Anchor(begin_ns, BEGIN_NS, begin_ns, begin_ns)
    output.begin(first, anchor)
    watch(first)
    for moment in moments:
        utc_ns = moment.time_ns + anchor.offset_ns
        now = Anchor(moment.time_ns, utc_ns, moment.time_ns, moment.time_ns)
        output.take(moment, watch(moment), now, stepped=False)
    (segment,) = folder.glob("2*")
    (segment / CAPTURE).hardlink_to(perf_data)
    output.finish(())


@dataclass(frozen=True, slots=True)
class Sealing:
    """What sealing a segment cost, from the start of the child to its end."""

    cpu_seconds: float
    memory_mib: float
    size_bytes: int


def seal(tree: Path, opened: Path, folder: Path, *, samples: bool) -> Sealing:
    """Seal a copy of an open segment in this folder, by the program in a source tree."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(opened, folder, copy_function=os.link)
    if not samples:
        (folder / CAPTURE).unlink()
    words = [*OURSELVES, "seal", "--json", str(folder)]
    process = subprocess.Popen(
        words, env=os.environ | {"PYTHONPATH": str(tree / "src")}, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{tree}: the segment could not be sealed")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Sealing(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, size)


def measure_sealing(store: Path, before: Path | None, pairs: int = 7) -> None:
    """Seal the open segment of a store, with its samples and without, and leave it sealed."""
    (opened,) = store.glob("*/2*")
    folder = opened.with_name(f"{opened.name}-1")
    for samples in (False, True):
        runs: list[tuple[Sealing, Sealing | None]] = []
        for _ in range(pairs):
            other = seal(before, opened, folder, samples=samples) if before else None
            runs.append((seal(ROOT, opened, folder, samples=samples), other))
        ours = [one for one, _ in runs]
        cpu_seconds, memory = median(one.cpu_seconds for one in ours), max(one.memory_mib for one in ours)
        what = f"sealing {SEGMENT_SECONDS} s {'with' if samples else 'without'} samples"
        if samples:
            limit = SEGMENT_SECONDS / 100
            report_amount(f"{what}, {memory:.0f} MiB", cpu_seconds, "s of CPU", "1 % of a core", limit)
        for name in ("cpu_seconds", "size_bytes") if before else ():
            both = [(getattr(one, name), getattr(other, name)) for one, other in runs if other]
            one, other = (median(values) for values in zip(*both, strict=True))
            ratio = median(one / other for one, other in both)
            print(f"{what}, {name}: {one:,.4g}; before: {other:,.4g}; ratio of the pairs {ratio:.2f}")
    shutil.rmtree(opened)
    folder.rename(opened)


def repeat(store: Path, host: str) -> list[StoredSegment]:
    """The hour: copies of the one segment that there is, one after the other."""
    (first,) = Store(store).segments()
    for number in range(1, SEGMENTS):
        shift_ns = number * SEGMENT_SECONDS * SECOND_NS
        folder = next(segment_names(Store(store).host_folder(host), first.begin_ns + shift_ns))
        shutil.copytree(first.folder, folder)
        document = json.loads((folder / DESCRIPTION).read_text())
        document["begin_ns"] += shift_ns
        document["end_ns"] += shift_ns
        document["clock"]["offset_ns"] += shift_ns
        document["host"]["boot_id"] = f"00000000-0000-4000-8000-{number:012x}"
        (folder / DESCRIPTION).write_text(json.dumps(document, indent=1))
    return Store(store).segments()


# --- the measurements -------------------------------------------------------------------------------

HOUR = Selection(BEGIN_NS, BEGIN_NS + SEGMENTS * SEGMENT_SECONDS * SECOND_NS)
MIDDLE_NS = (HOUR.begin_ns + HOUR.end_ns) // 2 + SECOND_NS
FIVE = Selection(MIDDLE_NS, MIDDLE_NS + 5 * SECOND_NS)


def _timeline(segments: Sequence[StoredSegment]) -> object:
    states = core_states(segments, HOUR.begin_ns, HOUR.end_ns, SECOND_NS, load_thresholds(None))
    if states.missing or len(states.states) != CORES_COUNT:
        raise SystemExit(f"the timeline is not whole: {len(states.states)} cores, {states.missing} missing")
    return states


WORKS: Mapping[str, Callable[[Sequence[StoredSegment]], object]] = {
    "list": lambda segments: segments,
    "heatmap": lambda segments: scope(segments, HOUR, 50),
    "flame": lambda segments: flame(window(segments, FIVE)),
    "flame-core": lambda segments: flame(window(segments, replace(FIVE, cpus=(STUCK_CORE,)))),
    "timeline": _timeline,
    "events": lambda segments: events_between(segments, TimeRange(HOUR.begin_ns, HOUR.end_ns)),
}


def work(name: str, store: Path) -> None:
    """Do one thing in this process, and print how long it took, from the listing of the store on."""
    began = time.perf_counter()
    WORKS[name](Store(store).segments())
    seconds = time.perf_counter() - began
    print(json.dumps([seconds, _peak_mib()]))


def _peak_mib() -> float:
    """The largest memory of this process; getrusage would count what its parent had when it was started."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def forget(store: Path) -> None:
    """Let the kernel drop the files of a store from its memory."""
    os.sync()  # what is not written yet cannot be dropped
    for path in store.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def in_new_process(name: str, store: Path) -> tuple[float, float]:
    """Seconds and MiB of one work in a process of its own."""
    words = [sys.executable, __file__, "--work", name, "--store", str(store)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    seconds, memory = json.loads(done.stdout)
    return seconds, memory


def program(store: Path, *words: str) -> float:
    """Seconds of the whole program."""
    began = time.perf_counter()
    command = [PROGRAM, *words, "--json", "--store", str(store)]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def measure(store: Path) -> None:
    """Print the times of all pictures."""
    whole, five = _range(HOUR), _range(FIVE)
    heatmap = SEGMENTS * HEATMAP_LIMIT_SECONDS
    rows: list[tuple[str, str, float | None, list[str]]] = [
        ("the list of segments", "list", None, []),
        ("heatmap of the hour, 50 rows", "heatmap", heatmap, ["scope", "--rows", "50", *whole]),
        ("flame graph of 5 s, all cores", "flame", FLAME_LIMIT_SECONDS, ["flame", *five]),
        (
            "flame graph of 5 s, one core",
            "flame-core",
            FLAME_LIMIT_SECONDS,
            ["flame", "--cpu", str(STUCK_CORE), *five],
        ),
        ("timeline of the hour", "timeline", None, ["timeline", *whole]),
        ("events of the hour", "events", None, ["events", *whole]),
    ]
    for what, name, limit, words in rows:
        times: dict[str, float] = {}
        for state in ("cold", "warm"):
            runs = []
            for _ in range(3):
                if state == "cold":
                    forget(store)
                runs.append(in_new_process(name, store))
            times[state], memory = min(runs)
            if limit:
                report(f"{what}, {state}", times[state], "limit", limit)
            else:
                print(f"{what}, {state}: {times[state] * 1e3:.2f} ms; no limit is set")
        print(f"  largest memory: {memory:.0f} MiB")
        if words:
            forget(store)
            cold, warm = program(store, *words), min(program(store, *words) for _ in range(3))
            print(f"  necroscope {words[0]} --json, all of it: cold {cold:.3f} s, warm {warm:.3f} s")


def _range(selection: Selection) -> list[str]:
    return ["-b", iso_utc(selection.begin_ns), "-e", iso_utc(selection.end_ns)]


def measure_size(segments: Sequence[StoredSegment], raw_bytes: int) -> None:
    """Print what the hour takes, and what of it."""
    parts: Counter[str] = Counter()
    tables: Counter[str] = Counter()
    for segment in segments:
        for path in segment.folder.rglob("*"):
            if path.is_file():
                parent = path.parent.name
                parts[parent if path.parent != segment.folder else path.name] += path.stat().st_size
                tables[f"{parent}/{path.name}"] += path.stat().st_size
    raw, total = raw_bytes * SEGMENTS, parts.total()
    for name, size in parts.most_common():
        print(f"  {name:16} {size / 1e6:8.1f} MB, {size / total:.0%}")
    largest = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in tables.most_common(8))
    print(f"  the largest files, in MB: {largest}")
    report_amount("the hour on disk", total / 1e6, "MB", "its perf.data", raw / 1e6)
    target = raw * SIZE_TARGET / 1e6
    report_amount("its profile", parts["profile"] / 1e6, "MB", "1/15 of its perf.data", target)
    print(f"hours in the budget of 8 GiB: {BUDGET_BYTES / total:.0f}")


def main() -> None:
    """Record, copy, and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a capture of 12 s, ten times")
    parser.add_argument("--seal", action="store_true", help="only what sealing costs")
    parser.add_argument("--before", type=Path, help="a source tree whose sealing is measured beside ours")
    parser.add_argument("--work", choices=WORKS, help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.store)
        return
    if os.geteuid() != 0 or not shutil.which("perf"):
        print("not measured: needs root and perf")
        return
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        folder = Path(name)
        store, perf_data = folder / "store", folder / "perf.data"
        repeats = 10 if arguments.quick else 1
        seconds = SEGMENT_SECONDS // repeats
        capture(perf_data, seconds)
        # In a process of its own: a child's largest memory counts what its parent had when it was started.
        with ProcessPoolExecutor(1) as pool:
            samples, begin_ns = pool.submit(spread, perf_data, repeats, seconds * SECOND_NS).result()
        raw_bytes = perf_data.stat().st_size
        print(
            f"{CORES_COUNT} cores at {HERTZ} Hz, {SEGMENTS} segments of {SEGMENT_SECONDS} s:"
            f" {samples:,} samples and {raw_bytes / 1e6:.0f} MB of perf.data in each"
        )
        record(store, perf_data, folder / "tree", begin_ns)
        perf_data.unlink()
        measure_sealing(store, arguments.before and arguments.before.resolve())
        if arguments.seal:
            return
        segments = repeat(store, "large")
        measure_size(segments, raw_bytes)
        measure(store)


if __name__ == "__main__":
    main()
