"""Writes a store of many hours of a large host, the same every time.

    python benchmarks/generate_days.py STORE [--hours 12] [--cores 96] [--profiles]

At the rates of a recorder: the time, softirqs and run queue of every core and the memory cgroups every
second, the kernel log as lines come, segments of 120 s. Once in half an hour a core is in the kernel for 6 s
and a NIC queue stalls; a unit fails every 10 s and leaves a memory cgroup each time. Events are found by the
recorder's own watch, and segments are sealed as the recorder seals them. With --profiles the segments with a
stall have samples (97 Hz) of the stalled core and of some others. Left out is what no overview reads:
processes, interrupts, NIC counters.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from benchmarks.generated_samples import sample_text
from necroscope import _native
from necroscope.agent.rolling import make_folder, open_description
from necroscope.model.event import Event
from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.model.timestamp import SECOND_NS
from necroscope.profiles.idle import idle_rule
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.watch import Watch
from necroscope.sources.cores import CORES, CoreTime
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.run_queues import RUN_QUEUES, RunQueue
from necroscope.sources.softirqs import SOFTIRQS, CoreSoftirqs
from necroscope.store.clock import Anchor
from necroscope.store.journal import JOURNAL, End, anchor_frame, end_frame, event_frame, moment_frame
from necroscope.store.seal import seal_recorded
from necroscope.store.segment import Moment
from necroscope.store.store import DESCRIPTION, Store, read_segment

SEGMENT_SECONDS = 120
BEGIN_UTC_NS = int(datetime(2026, 4, 15, tzinfo=UTC).timestamp()) * SECOND_NS
BEGIN_NS = 10**15  # some eleven days of uptime
HOST = "node-96"
MOST_TICKS = (60, 20, 8)  # of 100 in a second: user, system, softirq
STALL_EVERY, STALL_SEGMENT = 15, 7  # segments
STALL_SECONDS = range(60, 66)
RESTART_EVERY_SECONDS = 10
SAMPLED_BESIDE = 3  # cores, beside the one that stalls
LINE = (
    "ena 0000:00:05.0 eth0: TX q {queue} is paused for too long (threshold 5000000). "
    "usecs since napi 5180000. napi scheduled: 1. napi CPU: {core}. msecs since interrupt: 5176"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to generate."""

    store: Path
    segments: int
    cores: int
    has_profiles: bool = False

    @property
    def labels(self) -> Labels:
        """Who the generated host says it is."""
        return Labels(
            hostname=HOST,
            kernel="5.10.0-generated",
            boot_id="00000000-0000-4000-8000-000000000096",
            cores_online=self.cores,
            cores_possible=self.cores,
        )

    def stalled_core(self, number: int) -> int | None:
        """The core that stalls in a segment."""
        return number * 7 % self.cores if number % STALL_EVERY == STALL_SEGMENT else None


Ticks = tuple[int, int, int]  # of one core in one second: user, system, softirq


def ticks_of(plan: Plan, number: int) -> list[list[Ticks]]:
    """How the cores spend the seconds of a segment: by second, then by core."""
    drawn = random.Random(number).randbytes(SEGMENT_SECONDS * plan.cores * len(MOST_TICKS))
    user, system, softirq = (
        [byte * most >> 8 for byte in drawn[place :: len(MOST_TICKS)]]
        for place, most in enumerate(MOST_TICKS)
    )
    all_ticks = list(zip(user, system, softirq, strict=True))
    seconds = [all_ticks[at : at + plan.cores] for at in range(0, len(all_ticks), plan.cores)]
    stalled = plan.stalled_core(number)
    if stalled is not None:
        for second in STALL_SECONDS:
            seconds[second][stalled] = (0, 100, 0)
    return seconds


class Counters:
    """What the counters of the host say after every second."""

    def __init__(self, plan: Plan, first_segment: int) -> None:
        self._plan = plan
        self._ticks = [(0, 0, 0)] * plan.cores
        for number in range(first_segment):  # no counter ever falls
            for second in ticks_of(plan, number):
                self._add(second)
        self._second = first_segment * SEGMENT_SECONDS

    def advance(self, second: Sequence[Ticks]) -> None:
        """A second passes."""
        self._add(second)
        self._second += 1

    def _add(self, second: Sequence[Ticks]) -> None:
        self._ticks = [
            (a + x, b + y, c + z) for (a, b, c), (x, y, z) in zip(self._ticks, second, strict=True)
        ]

    def readings(self, lines: Sequence[LogLine]) -> dict[str, Reading[Any]]:
        """What the sources read now."""
        past = self._second * 100
        cores = tuple(
            CoreTime(core, user, 0, system, past - user - system - softirq, 0, 0, softirq, 0)
            for core, (user, system, softirq) in enumerate(self._ticks)
        )
        softirqs = tuple(
            CoreSoftirqs(core, softirq * 90, softirq * 3, self._second * 250)
            for core, (_, _, softirq) in enumerate(self._ticks)
        )
        queues = tuple(
            RunQueue(core, (user + system) * 10**7, system * 10**6)
            for core, (user, system, _) in enumerate(self._ticks)
        )
        return {
            CORES.id: Reading(cores),
            SOFTIRQS.id: Reading(softirqs),
            RUN_QUEUES.id: Reading(queues),
            MEMORY_CGROUPS.id: Reading(self._memory_cgroups()),
            KERNEL_LOG.id: Reading(KernelLog(tuple(lines), 0, "/dev/kmsg")),
        }

    def _memory_cgroups(self) -> MemoryCgroups:
        in_use = 210 + self._second // 60 % 7
        dying = 2000 + self._second // RESTART_EVERY_SECONDS
        count = HierarchyCount("memory", 1, in_use + dying, in_use, dying, "/proc/cgroups")
        return MemoryCgroups(count, (), (in_use + dying) * self._plan.cores * 1500)


def moments_of(plan: Plan, number: int, counters: Counters) -> Iterator[Moment]:
    """The moments of a segment; its first is also the last of the one before."""
    begin_ns = BEGIN_NS + number * SEGMENT_SECONDS * SECOND_NS
    stalled = plan.stalled_core(number)
    for second, ticks in enumerate([None, *ticks_of(plan, number)]):
        if ticks is not None:
            counters.advance(ticks)
        time_ns = begin_ns + second * SECOND_NS
        lines = []
        if stalled is not None and second == STALL_SECONDS.stop:
            text = LINE.format(queue=stalled % 32, core=stalled)
            lines = [LogLine(time_ns - SECOND_NS // 4, text, 0, 1000 + number)]
        readings = counters.readings(lines)
        yield Moment(time_ns, readings, dict.fromkeys(readings, 100_000))


def restarts(number: int) -> Iterator[Event]:
    """The unit that fails, and is started again."""
    first = number * SEGMENT_SECONDS
    for second in range(first, first + SEGMENT_SECONDS, RESTART_EVERY_SECONDS):
        count = second // RESTART_EVERY_SECONDS
        text = f"agent.service failed and was started again, {count + 1:,} times since boot"
        time_ns = BEGIN_NS + second * SECOND_NS + SECOND_NS // 3
        yield Event("unit-restart", time_ns, "unit-restart", text, sequence=count, unit="agent.service")


def write_segments(plan: Plan, numbers: range) -> int:
    """Write a stretch of segments; how many there are."""
    counters, watch = Counters(plan, numbers.start), Watch(load_thresholds(None))
    for number in numbers:
        moments = list(moments_of(plan, number, counters))
        found = [event for moment in moments for event in watch(moment)]
        _write(plan, number, moments, [*found, *restarts(number)])
    return len(numbers)


def _write(plan: Plan, number: int, moments: Sequence[Moment], events: Sequence[Event]) -> None:
    first, last = moments[0].time_ns, moments[-1].time_ns
    anchor = Anchor(first, BEGIN_UTC_NS + first - BEGIN_NS, first, first)
    folder = make_folder(Store(plan.store).host_folder(HOST), anchor.utc_ns)
    (folder / DESCRIPTION).write_text(json.dumps(open_description(plan.labels, first, anchor)))
    frames = [anchor_frame(anchor), *map(moment_frame, moments), *map(event_frame, events)]
    (folder / JOURNAL).write_bytes(b"".join([*frames, end_frame(End(last, "full"))]))
    segment = read_segment(folder)
    stalled = plan.stalled_core(number)
    if plan.has_profiles and stalled is not None:
        cores = sorted({(stalled + place) % plan.cores for place in range(SAMPLED_BESIDE + 1)})
        segment.capture.write_text("".join(sample_text(ticks_of(plan, number), cores, first)))
    seal_recorded(segment, _seal_text)


def _seal_text(capture: Path, folder: Path, *_: object) -> Mapping[str, Any]:
    rule = idle_rule()
    return _native.import_perf_script(capture, folder, idle=list(rule.idle), interrupt=list(rule.interrupt))


def generate(plan: Plan) -> None:
    """Write all of it, on all cores of this machine."""
    Store(plan.store).host_folder(HOST).mkdir(parents=True)
    workers = os.cpu_count() or 1
    bounds = [0, *accumulate(len(range(place, plan.segments, workers)) for place in range(workers))]
    stretches = [range(begin, end) for begin, end in pairwise(bounds)]
    with ProcessPoolExecutor(workers) as pool:
        list(pool.map(write_segments, [plan] * workers, stretches))


def plan_of(store: Path, hours: float, cores: int, *, has_profiles: bool = False) -> Plan:
    """So many hours in whole segments."""
    return Plan(store, max(1, round(hours * 3600 / SEGMENT_SECONDS)), cores, has_profiles)


def main() -> None:
    """Generate, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("store", type=Path)
    parser.add_argument("--hours", type=float, default=12.0)
    parser.add_argument("--cores", type=int, default=96)
    parser.add_argument("--profiles", action="store_true")
    arguments = parser.parse_args()
    began = time.perf_counter()
    plan = plan_of(arguments.store, arguments.hours, arguments.cores, has_profiles=arguments.profiles)
    generate(plan)
    size = sum(path.stat().st_size for path in plan.store.rglob("*") if path.is_file())
    print(f"{plan.segments} segments, {size / 1e6:.1f} MB, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
