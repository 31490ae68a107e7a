"""The soak: its checks find what is wrong, its churn is exact and leaves nothing, three minutes hold."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab import recorders
from lab.faults import churn, kernel_lines
from lab.faults.churn import churning
from lab.faults.zombies import HIERARCHY
from lab.running.expectation import check
from lab.running.run import run
from lab.running.scenario import all_scenarios
from lab.running.stage import Stage
from lab.scenarios.soak.checks import find_marks, find_samples, growth, largest_interval_seconds, slope
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import open_kernel_log

MS = 10**6
WRITTEN = [(second * 10**9, second * 10**9 + 2_000) for second in range(100)]
FOUND = [(number, before + 1_000) for number, (before, _) in enumerate(WRITTEN)]
CORES = (0, 1)
SECONDS = range(50, 110)
SAMPLES = {(second, core): 97 for second in SECONDS for core in CORES}
ARENA = 2**20

churns = pytest.mark.skipif(churn.why_not() is not None, reason=str(churn.why_not()))
REASON = recorders.why_not() or churn.why_not() or kernel_lines.why_not()


def memory(seconds: int, bytes_per_second: float) -> list[tuple[float, float]]:
    """A series as that of a recorder: it has its size after a minute, wavers by some pages, and may grow."""
    noise = random.Random(seconds)
    return [
        (float(at), 30e6 + min(at, 60) * 20e3 + noise.randrange(20) * 4096 + at * bytes_per_second)
        for at in range(0, seconds, 5)
    ]


def test_marks_that_are_all_there() -> None:
    found = find_marks(WRITTEN, FOUND)
    assert (found.lost, found.found_twice, found.unknown, found.out_of_order) == (0, 0, 0, 0)
    assert found.largest_error_ms == 0


def test_one_lost_mark_among_many_is_found() -> None:
    assert find_marks(WRITTEN, FOUND[:41] + FOUND[42:]).lost == 1
    assert find_marks(WRITTEN, FOUND[:-1]).lost == 1, "the last one too"
    assert find_marks(WRITTEN, []).lost == 100


def test_a_mark_that_is_told_twice_is_found() -> None:
    found = find_marks(WRITTEN, [*FOUND[:42], FOUND[41], *FOUND[42:]])
    assert (found.lost, found.found_twice, found.out_of_order) == (0, 1, 1)


def test_marks_in_the_wrong_order_are_found() -> None:
    found = find_marks(WRITTEN, [*FOUND[:41], FOUND[42], FOUND[41], *FOUND[43:]])
    assert (found.lost, found.found_twice, found.out_of_order) == (0, 0, 1)


def test_a_mark_that_nobody_wrote_is_found() -> None:
    assert find_marks(WRITTEN, [*FOUND, (100, 100 * 10**9)]).unknown == 1


@pytest.mark.parametrize("error_ms", [-12, 12, 30_000])
def test_a_mark_at_a_wrong_time_is_found(error_ms: int) -> None:
    moved = [*FOUND[:41], (41, FOUND[41][1] + error_ms * MS), *FOUND[42:]]
    assert find_marks(WRITTEN, moved).largest_error_ms == pytest.approx(abs(error_ms), abs=0.01)


def test_a_missing_second_is_found() -> None:
    times_ns = [second * 10**9 for second in range(60)]
    assert largest_interval_seconds(times_ns) == 1
    assert largest_interval_seconds(times_ns[:31] + times_ns[32:]) == 2
    assert largest_interval_seconds(sorted(times_ns, reverse=True)) == 1


def test_a_second_of_a_core_without_samples_is_found() -> None:
    whole = find_samples(SAMPLES, CORES, SECONDS)
    assert (whole.seconds, whole.empty, whole.fewest, whole.per_second_and_core) == (60, 0, 97, 97)
    hole = {cell: count for cell, count in SAMPLES.items() if cell != (80, 1)}
    assert find_samples(hole, CORES, SECONDS).empty == 1
    assert find_samples(SAMPLES, (0, 1, 2), SECONDS).empty == 60, "a core that was never sampled"
    early = {cell: count for cell, count in SAMPLES.items() if cell[0] < 100}
    assert find_samples(early, CORES, SECONDS).empty == 20, "perf ended ten seconds too early"
    assert find_samples({}, CORES, SECONDS).empty == 120


def test_the_slope_is_that_of_most() -> None:
    line = [(float(at), 3.0 * at) for at in range(100)]
    assert slope(line) == 3
    assert slope([*line[:50], (50.0, 1e9), *line[51:]]) == pytest.approx(3), "one jump does not count"


@pytest.mark.parametrize("seconds", [180, 3600])
def test_memory_that_only_wavers_does_not_grow(seconds: int) -> None:
    assert growth(memory(seconds, 0)).rise < ARENA / 10


def test_memory_that_grows_is_found() -> None:
    assert growth(memory(3600, 1.2 * ARENA / 1800)).rise > ARENA, "1.2 MiB in half an hour"
    assert growth(memory(180, 1.5 * ARENA / 90)).rise > ARENA, "1.5 MiB in a minute and a half"


@pytest.mark.parametrize("jumps", [2, 15])
def test_descriptors_that_are_lost_now_and_then_are_found(jumps: int) -> None:
    lost = [(float(at), 15.0 + at * jumps // 1800) for at in range(0, 3600, 5)]
    assert growth(lost).rise > 0.5


def test_a_sealing_child_now_and_then_is_no_growth() -> None:
    children = [(float(at), 2.0 if at % 120 < 10 else 1.0) for at in range(0, 3600, 5)]
    assert growth(children).rise == 0


def test_a_trend_needs_values() -> None:
    with pytest.raises(ValueError, match="tell no trend"):
        growth([(0.0, 1.0)] * 9)


def test_every_expectation_can_fail() -> None:
    """Results in which each number is as wrong as it can be: no row holds."""
    scenario = all_scenarios()["soak"]
    wrong: dict[str, object] = {}
    for row in scenario.expectations:
        *path, name = row.result.split(".")
        place: dict[str, object] = wrong
        for part in path:
            place = place.setdefault(part, {})  # type: ignore[assignment]
        place[name] = -1 if row.comparison == "at_least" else ["wrong"] if row.wanted == [] else 10**9
    holds = [row.that for row in scenario.expectations if check(row, wrong).holds]
    assert holds == []


@churns
def test_churn_is_counted_to_the_last_and_leaves_nothing(tmp_path: Path) -> None:
    read = open_kernel_log(Host())
    read()
    run_name = f"churn-{os.getpid()}"
    with churning(tmp_path, run_name) as one:
        time.sleep(3)
        done = one.stop()
        parent = HIERARCHY / f"lab-soak-{done.pid}"
        assert list(parent.glob("*/")) == [], "all that was made in it is removed"
        time.sleep(0.5)
    assert not parent.exists()
    assert 50 <= done.processes <= 62
    assert 13 <= done.clean <= 16
    assert 3 <= done.leaked <= 4
    log = read().value
    assert log
    texts = [line.text for line in log.lines if f"mark: {run_name} " in line.text]
    assert texts == [f"necroscope mark: {run_name} {number}" for number in range(len(done.marks))]
    assert len(texts) >= 10


STARTER = """
import sys, time
from pathlib import Path
from lab.faults.churn import churning
with churning(Path(sys.argv[1]), "killed") as one:
    print(one.process.pid, flush=True)
    time.sleep(60)
"""


@churns
def test_churn_leaves_nothing_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path)]
    starter = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        assert starter.stdout
        parent = HIERARCHY / f"lab-soak-{int(starter.stdout.readline())}"
        recorders.wait_until(parent.exists, 5, "the parent of its cgroups")
    finally:
        starter.kill()
        starter.communicate()
    recorders.wait_until(lambda: not parent.exists(), 10, "an end of the churn")


@pytest.mark.long
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
def test_three_minutes(tmp_path: Path) -> None:
    stage = Stage(folder=tmp_path / "soak", times_faster=20)
    outcome = run(all_scenarios()["soak"], stage)
    failed = [one for one in outcome.checks if not one.holds]
    assert outcome.is_as_expected, (failed, outcome, json.dumps(stage.results, indent=1))
