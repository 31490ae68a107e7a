from __future__ import annotations

import random

import pytest
from scipy import stats

from necroscope.statistics.false_discovery import benjamini_hochberg


@pytest.mark.parametrize("count", [1, 2, 43, 500])
def test_benjamini_hochberg_equals_scipy(count: int) -> None:
    chance = random.Random(count)
    probabilities = [chance.random() ** 3 for _ in range(count)]
    probabilities += probabilities[:3]  # ties
    assert benjamini_hochberg(probabilities) == pytest.approx(stats.false_discovery_control(probabilities))
    assert benjamini_hochberg([]) == []
