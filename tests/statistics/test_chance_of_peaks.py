from __future__ import annotations

import random
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from necroscope.statistics.chance_of_peaks import bursts, chance, seconds_above

WINDOW, COMPARED, PROBABILITY = 6, 60, 0.01


def test_all_that_ran_in_the_window_alone() -> None:
    assert chance([0.9] * 5 + [0], [0] * 30, []) == pytest.approx(2 * comb(6, 5) / comb(36, 5))
    assert seconds_above([0.9, 0.5, 0.2], [0.5, 0.1]) == 1


def test_what_is_alike_everywhere_is_chance() -> None:
    assert chance([0.5] * 6, [0.5] * 30, []) == 1
    assert chance([0.0] * 6, [0.0] * 30, []) == 1
    assert chance([], [0.1], []) == chance([0.1], [], []) == 1


def test_a_few_high_quiet_seconds_do_not_hide_many_in_the_window() -> None:
    quiet = [1.0 if second % 20 == 0 else 0.0 for second in range(120)]
    assert seconds_above([1.0] * 6, quiet) == 0
    assert chance([1.0] * 6, quiet, []) < 1e-5


LOADS = st.sampled_from([0.0, 0.0, 1.0]) | st.floats(0, 1)


@given(st.lists(LOADS, min_size=11, max_size=11))
@settings(max_examples=20)
def test_it_is_a_probability_whatever_the_load(seconds: list[float]) -> None:
    """Of all ways to choose the window, at most the share p has a chance of p or less."""
    found = []
    for chosen in combinations(range(11), 4):
        window = [seconds[n] for n in chosen]
        found.append(chance(window, [s for n, s in enumerate(seconds) if n not in chosen], []))
    for limit in found:
        assert sum(p <= limit for p in found) <= limit * len(found) + 1e-9


def test_bursts_are_seen_in_quiet_seconds() -> None:
    def of(series: list[float]) -> float:
        return bursts(series, [(n, n + 1) for n in range(len(series) - 1)])

    assert of([1.0, 0.0] * 15) == 1
    assert of([0.0] * 30) == 1, "nothing is known of one that never ran"
    assert of(([1.0] * 5 + [0.0] * 5) * 6) > 3


def load(rng: random.Random, seconds: int, on: float, off: float) -> list[float]:
    """A process that runs for a while at some intensity, and then not."""
    shares, at = [0.0] * seconds, rng.uniform(-20, 0)
    while at < seconds:
        end, intensity = at + rng.expovariate(1 / on), rng.uniform(0.2, 1)
        for second in range(max(0, int(at)), min(seconds, int(end) + 1)):
            shares[second] += intensity * max(0.0, min(end, second + 1) - max(at, second))
        at = end + rng.expovariate(1 / off)
    return shares


def stands_out(window: list[float], quiet: list[float], gap: int) -> bool:
    """As `culprit` decides, where 60 are compared; `gap` is where in the quiet seconds the window was."""
    neighbours = [(n, n + 1) for n in range(len(quiet) - 1) if n + 1 != gap]
    share, usual = sum(window) / len(window), sum(quiet) / len(quiet)
    return share >= max(0.1, 2 * usual) and chance(window, quiet, neighbours) * COMPARED <= PROBABILITY


@pytest.mark.parametrize("quiet", [30, 120])
@pytest.mark.parametrize(("on", "off"), [(0.5, 1), (2, 3), (3, 6), (5, 10), (5, 30), (10, 60)])
def test_loads_that_come_in_bursts_seldom_stand_out(quiet: int, on: float, off: float) -> None:
    rng, trials, wrong = random.Random(1), 400, 0
    for _ in range(trials):
        begin = rng.randrange(quiet)
        loads = [load(rng, quiet + WINDOW, on, off) for _ in range(4)]
        wrong += any(
            stands_out(one[begin : begin + WINDOW], one[:begin] + one[begin + WINDOW :], begin)
            for one in loads
        )
    assert wrong / trials < 0.05, "measured: 0.03 at most, and 0.17 if bursts were not allowed for"


def test_a_spike_in_such_a_load_stands_out() -> None:
    rng, trials, found = random.Random(2), 200, 0
    for _ in range(trials):
        window = [rng.uniform(0.3, 1) for _ in range(5)] + [0.0]
        assert stands_out(window, [0.0] * 30, 12), "never seen in a quiet second"
        found += stands_out(window, [rng.uniform(0, 0.2) for _ in range(60)], 12)
    assert found / trials > 0.9, "seen a little in all of them: noise may look like bursts"
