"""Where the wall is and when it is reached, by counts, costs and trends of known content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.diagnosis.zombies.wall import Cost, Outlook, find_costs, find_wall, memory_cost, read_cost
from necroscope.diagnosis.zombies.zombie_memory import ZombieMemory
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.memory_cgroups import HierarchyCount
from necroscope.sources.statistics_reads import StatisticsRead
from necroscope.statistics.theil_sen import Trend, trend_of

GIB = 1 << 30
COUNT = HierarchyCount("memory (v1)", 1, 10_200, 200, 10_000, "/proc/cgroups")
# What 96 possible cores take on Linux 5.4.
MEMORY = ZombieMemory("estimated", 255_000.0, 11_000.0, 10_000, None, "a table")
FLAT = StatisticsRead("memory.stat", "/", "/m/memory.stat", 15e-6, 40e-6, 4, 14e-6)
WALKS = StatisticsRead("memory.numa_stat", "/", "/m/memory.numa_stat", 0.0511, 0.0511, 1, 100e-6)
MEMORY_LEVEL = Cost("wall.memory_ratio", 0.01, 0.05, "ratio", 20_000, "")


def rising(per_second: float, minutes: int = 60) -> Trend:
    trend = trend_of([(60.0 * n, 10_200 + per_second * 60 * (n - minutes)) for n in range(minutes + 1)])
    assert trend
    return trend


def test_memory_hurts_at_its_share() -> None:
    cost = memory_cost(COUNT.in_use, MEMORY, 64 * GIB, 0.05)
    assert cost.level == 200 + int(0.05 * 64 * GIB / 266_000)
    assert cost.now == pytest.approx(10_000 * 266_000 / (64 * GIB))


def test_what_is_not_known_has_no_level() -> None:
    assert memory_cost(COUNT.in_use, None, 64 * GIB, 0.05).level is None
    assert memory_cost(COUNT.in_use, MEMORY, None, 0.05).level is None
    wall = find_wall(COUNT.tracked, rising(1), (memory_cost(COUNT.in_use, None, GIB, 0.05),))
    assert (wall.outlook, wall.first) == (Outlook.NO_LEVEL, None)


def test_a_read_that_walks_hurts_where_it_takes_too_long() -> None:
    """5 us for each of 10,200 cgroups: 0.1 s are reached at 20,000 or so."""
    cost = read_cost(COUNT.tracked, WALKS, 0.1)
    assert cost.level == pytest.approx(19_980, abs=20)
    assert "5 us for each" in cost.why


def test_a_read_that_does_not_walk_has_no_level() -> None:
    cost = read_cost(COUNT.tracked, FLAT, 0.1)
    assert cost.level is None and "does not get slower" in cost.why


def test_few_cgroups_cannot_tell_whether_a_read_walks() -> None:
    assert "too few" in read_cost(120, FLAT, 0.1).why


def test_without_a_leaf_there_is_nothing_to_compare_with() -> None:
    cost = read_cost(COUNT.tracked, replace(WALKS, leaf_seconds=None), 0.1)
    assert cost.level is None and "cannot be compared" in cost.why


def test_the_first_cost_is_the_wall() -> None:
    costs = find_costs(COUNT, MEMORY, 512 * GIB, (FLAT, WALKS), load_thresholds(None))
    wall = find_wall(COUNT.tracked, rising(1), costs)
    assert wall.first and wall.first.id == "wall.read_seconds"
    small = find_costs(COUNT, MEMORY, 64 * GIB, (FLAT, WALKS), load_thresholds(None))
    first = find_wall(COUNT.tracked, rising(1), small).first
    assert first and first.id == "wall.memory_ratio"


def test_other_cgroups_than_the_root_are_not_judged() -> None:
    slice_read = replace(WALKS, cgroup="/system.slice")
    costs = find_costs(COUNT, MEMORY, 64 * GIB, (slice_read,), load_thresholds(None))
    assert [cost.id for cost in costs] == ["wall.memory_ratio"]


def test_a_steady_leak_reaches_it_when_arithmetic_says() -> None:
    wall = find_wall(COUNT.tracked, rising(0.5), (MEMORY_LEVEL,))
    assert wall.outlook is Outlook.AHEAD
    assert wall.seconds == pytest.approx((20_000 - 10_200) / 0.5)
    assert wall.earliest_seconds == wall.latest_seconds == pytest.approx(wall.seconds)


def test_an_uneven_leak_has_an_interval() -> None:
    steps = [(60.0 * n, 10_000 + 30.0 * n + 100 * (n % 7)) for n in range(61)]
    wall = find_wall(COUNT.tracked, trend_of(steps), (MEMORY_LEVEL,))
    assert wall.seconds and wall.earliest_seconds and wall.latest_seconds
    assert wall.earliest_seconds < wall.seconds < wall.latest_seconds


@pytest.mark.parametrize(
    ("trend", "outlook"),
    [
        (None, Outlook.TOO_SHORT),
        (rising(1, minutes=9), Outlook.TOO_SHORT),
        (rising(0), Outlook.NO_TREND),
        (rising(-0.001), Outlook.FALLING),
    ],
)
def test_without_a_rising_trend_no_time_is_told(trend: Trend | None, outlook: Outlook) -> None:
    wall = find_wall(COUNT.tracked, trend, (MEMORY_LEVEL,))
    assert (wall.outlook, wall.seconds) == (outlook, None)


def test_beyond_is_beyond_whatever_the_trend() -> None:
    for trend in (None, rising(-0.001), rising(1)):
        assert find_wall(20_000, trend, (MEMORY_LEVEL,)).outlook is Outlook.BEYOND
