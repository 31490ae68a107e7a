from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from necroscope.statistics.poisson_binomial import probability_of_at_least


def by_force(draws: list[list[float]], number: int) -> float:
    """All that can happen: of each draw, those that are likelier than some number of its own."""
    total = 0.0
    each = []
    for chances in draws:
        steps = sorted({0.0, *chances, 1.0})
        each.append(
            [(high - low, sum(c >= high for c in chances)) for low, high in itertools.pairwise(steps)]
        )
    for drawn in itertools.product(*each):
        total += math.prod(p for p, _ in drawn) if sum(count for _, count in drawn) >= number else 0
    return total


CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=3)


@given(st.lists(CHANCES, min_size=1, max_size=6))
@settings(max_examples=30)
def test_the_distribution_is_exact(draws: list[list[float]]) -> None:
    for number in range(sum(map(len, draws)) + 2):
        wanted = by_force(draws, number)
        assert probability_of_at_least(number, draws) == pytest.approx(wanted, rel=1e-9, abs=1e-15)


def test_small_probabilities_stay_exact() -> None:
    found = probability_of_at_least(20, [[1e-4]] * 50)
    assert found == pytest.approx(stats.binom.sf(19, 50, 1e-4), rel=1e-9)  # 5e-67


def test_single_things_are_binomial() -> None:
    assert probability_of_at_least(0, [[0.5], [0.5]]) == 1
    for number in range(1, 9):
        found = probability_of_at_least(number, [[0.03]] * 8)
        assert found == pytest.approx(stats.binom.sf(number - 1, 8, 0.03))
    assert probability_of_at_least(2, [[0.03], [0.01], [0.02]]) == pytest.approx(
        0.03 * 0.01 * 0.98 + 0.03 * 0.99 * 0.02 + 0.97 * 0.01 * 0.02 + 0.03 * 0.01 * 0.02
    )
