"""The questions of the page on twelve hours of 96 cores, each against its limit, and what the server takes.

    python benchmarks/bench_questions.py [--store DIR] [--hours 12] [--cores 96]

Limits: the cores of all of it in 1 s from files that are not in memory, any part of it in 100 ms; the heatmap
of a minute in 100 ms, a flame graph of 5 s in 100 ms, against another 5 s in 150 ms, against quiet seconds in
300 ms; the culprit in 500 ms; all of it as one file in 30 s and 15 MB. The store is generated
(benchmarks/generate_days.py), its newest hour and every segment with a stall with the samples of all busy
cores (benchmarks/crowded_samples.py), unless one from an earlier run is given. Times are wall times of a
question that was not asked before; what the processors did is told beside them, for machines with other work.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.bench_hour import forget
from benchmarks.crowded_samples import crowd
from benchmarks.generate_days import HOST, Plan, generate, plan_of
from benchmarks.timing import report, report_amount
from necroscope.model.timestamp import SECOND_US
from necroscope.server.one_file.range_page import range_page
from necroscope.server.questions.cores import ask_cores
from necroscope.server.questions.culprit import ask_culprit
from necroscope.server.questions.events import RecordedEvent, ask_events
from necroscope.server.questions.flame import ask_flame
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.scope import ask_scope
from necroscope.server.questions.selection import Filters, Range, Tree
from necroscope.store.store import Store

COLUMNS = 1280
ROWS = 50
CROWDED = 30  # segments, an hour
STALLS = 2  # of the newest hour
COLD_RUNS = 3
COLD_SECONDS, MOVE_SECONDS = 1.0, 0.1
SCOPE_SECONDS, FLAME_SECONDS, DIFFERENCE_SECONDS = 0.1, 0.1, 0.15
QUIET_SECONDS, CULPRIT_SECONDS = 0.3, 0.5
FILE_SECONDS, FILE_MB = 30.0, 15.0

Question = Callable[[], object]


def measured(what: str, questions: Sequence[Question], limit_seconds: float) -> None:
    """Ask each once; the longest is told."""
    wall, processor = max(_asked(question) for question in questions)
    report(f"{what} (processor {processor * 1e3:.0f} ms)", wall, "limit", limit_seconds)


def _asked(question: Question) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    question()
    return time.perf_counter() - began, time.process_time() - used


def moves(whole: Range) -> Iterator[Range]:
    """Zooms into it, and pans."""
    length_us = whole.end_us - whole.begin_us
    for part in (2, 4, 12, 72, 720):
        for place in (0.1, 0.5, 0.8):
            begin_us = whole.begin_us + int(length_us * place) // SECOND_US * SECOND_US
            yield Range(whole.host, begin_us, min(begin_us + length_us // part, whole.end_us))


def stalls(store: RecordedStore, whole: Range) -> list[RecordedEvent]:
    """The newest stalls of queues, which name a core."""
    events = ask_events(store, whole, ()).events
    return [event for event in events if event.core is not None and event.kind != "core-saturated"][-STALLS:]


def ask_cold(folder: Path, whole: Range) -> None:
    """The cores of all of it, by a server that was just started, from the disk; the middle of some runs."""
    runs = []
    for _ in range(COLD_RUNS):
        forget(folder)
        runs.append(_asked(lambda: ask_cores(RecordedStore(folder), whole, COLUMNS)))
    wall, processor = sorted(runs)[COLD_RUNS // 2]
    longest = max(runs)[0]
    what = (
        f"cores of all, cold (processor {processor * 1e3:.0f} ms, the longest of {COLD_RUNS} {longest:.2f} s)"
    )
    report(what, wall, "limit", COLD_SECONDS)


def ask_moves(store: RecordedStore, whole: Range) -> None:
    """What panning and zooming ask for."""
    ask_cores(store, whole, COLUMNS)
    questions = [lambda part=part: ask_cores(store, part, COLUMNS) for part in moves(whole)]
    measured(f"cores of a part, the longest of {len(questions)}", questions, MOVE_SECONDS)


def ask_moment(store: RecordedStore, event: RecordedEvent) -> None:
    """What the view "moment" asks for, of the core of an event and of all."""
    minute = Range(HOST, event.time_us - 45 * SECOND_US, event.time_us + 15 * SECOND_US)
    chosen = Range(HOST, event.time_us - 5 * SECOND_US, event.time_us)
    before = f"{chosen.begin_us - 30 * SECOND_US}..{chosen.begin_us - 25 * SECOND_US}"
    for cpus in ((event.core or 0,), ()):
        on = f"core {cpus[0]}" if cpus else "all cores"
        filters = Filters(cpus=cpus)

        def flame(against: str, filters: Filters = filters) -> list[Question]:
            return [lambda: ask_flame(store, chosen, filters, Tree(against=against))]

        scope = [lambda filters=filters: ask_scope(store, minute, filters, ROWS)]
        culprit = [lambda filters=filters: ask_culprit(store, chosen, filters)]
        measured(f"scope of a minute, {on}", scope, SCOPE_SECONDS)
        measured(f"flame of 5 s, {on}", flame(""), FLAME_SECONDS)
        measured(f"difference, 5 s against 5 s, {on}", flame(before), DIFFERENCE_SECONDS)
        measured(f"difference, 5 s against quiet seconds, {on}", flame("quiet"), QUIET_SECONDS)
        measured(f"culprit of 5 s, {on}", culprit, CULPRIT_SECONDS)


def write_file(folder: Path, whole: Range) -> None:
    """All of it as one file."""
    began, used = time.perf_counter(), time.process_time()
    page = range_page(RecordedStore(folder), whole)
    wall, processor = time.perf_counter() - began, time.process_time() - used
    report(f"one file (processor {processor * 1e3:.0f} ms)", wall, "limit", FILE_SECONDS)
    report_amount("one file", len(page.content) / 1e6, "MB", "limit", FILE_MB)


def resident_mb() -> float:
    """Of this process, now."""
    line = next(row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def measure(folder: Path, *, is_file_wanted: bool) -> None:
    """All rows."""
    before_mb = resident_mb()
    store = RecordedStore(folder)
    segments = store.segments_of(HOST)
    begin_us, end_us = segments[0].begin_ns // 1000, segments[-1].end_ns // 1000
    whole = Range(HOST, begin_us // SECOND_US * SECOND_US, end_us // SECOND_US * SECOND_US)
    ask_cold(folder, whole)
    ask_moves(store, whole)
    for event in stalls(store, whole):
        ask_moment(store, event)
    print(f"memory of the server: {before_mb:.0f} MiB at first, {resident_mb():.0f} MiB after all questions")
    if is_file_wanted:
        write_file(folder, whole)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at its peak: {peak_mb:.0f} MiB")


def make(plan: Plan) -> None:
    """The store, its newest hour and all segments with a stall crowded."""
    generate(plan)
    segments = Store(plan.store).segments()
    stalled = [one for number, one in enumerate(segments) if plan.stalled_core(number) is not None]
    with ProcessPoolExecutor() as pool:
        list(
            pool.map(
                partial(crowd, plan), {one.folder: one for one in [*stalled, *segments[-CROWDED:]]}.values()
            )
        )


def main() -> None:
    """Generate where nothing is given, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--hours", type=float, default=12.0)
    parser.add_argument("--cores", type=int, default=96)
    parser.add_argument("--no-file", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="necroscope-bench-") as name:
        folder = arguments.store or Path(name) / "store"
        if not arguments.store:
            make(plan_of(folder, arguments.hours, arguments.cores, has_profiles=True))
        measure(folder, is_file_wanted=not arguments.no_file)


if __name__ == "__main__":
    main()
