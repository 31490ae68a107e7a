"""What is made of kubelet's rounds: growth with zombies, only until the fix; nothing of none."""

from __future__ import annotations

import pytest

from lab.faults.kubelets import Round, Walks
from lab.scenarios.pinterest.rounds import rounds_as_results

SECOND = 1_000_000_000


def round_of(begin: int, end: int, *walks: tuple[int, int, float]) -> Round:
    """With walks of (when it ended, zombies, seconds)."""
    made = tuple(Walks(at * SECOND, zombies, seconds) for at, zombies, seconds in walks)
    return Round(begin * SECOND, end * SECOND, 0.006, walks[0][1], made, 0.1, 9.9)


def test_without_a_round_there_is_nothing_to_say_and_no_error() -> None:
    assert rounds_as_results([], None) == {"all": []}
    assert rounds_as_results([], 5 * SECOND) == {"all": []}


def test_what_comes_after_the_fix_has_begun_says_nothing_of_the_cost() -> None:
    first = round_of(0, 1, (1, 100, 0.1))
    long = round_of(10, 40, (15, 1_000, 1.0), (20, 2_000, 2.0), (35, 2_000, 0.01), (40, 2_000, 0.01))
    last = round_of(50, 51, (51, 100, 0.1))
    found = rounds_as_results([first, long, last], 25 * SECOND)
    assert found["walks_fitted"] == 3
    assert found["correlation"] == pytest.approx(1.0)
    assert found["walk_ms_per_1000_zombies"] == pytest.approx(1_000.0)
    assert found["longest_seconds"] == 15.0  # of 30, until the fix began
    assert found["times_longer"] == 15.0
    assert found["last_seconds"] == 1.0
    assert found["most_zombies"] == 2_000
    assert [row["fix"] for row in found["all"]] == ["before", "during", "after"]


def test_a_fit_that_zombies_do_not_explain_is_told_as_such() -> None:
    rounds = [round_of(0, 9, (1, 100, 5.0), (2, 1_000, 1.0), (3, 2_000, 0.5))]
    found = rounds_as_results(rounds, None)
    assert found["walk_ms_per_1000_zombies"] < 0
    assert found["correlation"] < 0
