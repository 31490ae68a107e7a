from __future__ import annotations

import pytest

from necroscope.diagnosis.facts.pace import pace_of

SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("counts", "per_minute", "words"),
    [
        ([(0, 0), (600, 0), (605, 50), (610, 100), (615, 150), (700, 150)], 600, "over 10 s"),
        ([(0, 0), (5, 40), (300, 40)], 480, "over 5 s"),  # one reading saw it: all of that interval
        ([(0, 0), (100, 1), (400, 2), (600, 2)], 0.2, "over 5 min"),
        ([(0, 7), (60, 7)], 0, "over 60 s"),
        ([], 0, "over 0 s"),
    ],
)
def test_only_the_time_in_which_it_rose_counts(
    counts: list[tuple[int, int]], per_minute: float, words: str
) -> None:
    pace = pace_of([(second * SECOND_NS, count) for second, count in counts])
    assert pace.per_minute == pytest.approx(per_minute) and pace.words == words
