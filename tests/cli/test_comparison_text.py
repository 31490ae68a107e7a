from __future__ import annotations

from dataclasses import replace

import pytest

from necroscope.cli.comparison_text import numbers_text, ratio_text, why_text
from necroscope.model.verdict import Comparison, Measure, Verdict

RESTARTS = Comparison(
    quantity="unit-restarts",
    subject="ecs.service",
    unit="restarts/h",
    is_goal=True,
    before=Measure(1200.0, 60.0, 20),
    after=Measure(0.5, 7200.0, 1),
    ratio=0.0004,
    low=0.0,
    high=0.25,
    probability_better=0.99999,
    verdict=Verdict.BETTER,
    needed_seconds=None,
    why="it halved",
)


def test_numbers_and_the_events_behind_them() -> None:
    assert RESTARTS.name == "unit-restarts of ecs.service"
    assert replace(RESTARTS, subject="").name == "unit-restarts"
    assert numbers_text(RESTARTS) == "1,200 -> 0.5 restarts/h (20 in 60 s, 1 in 2 h)"
    level = replace(RESTARTS, before=Measure(7320, 60, None), after=Measure(10, 60, None), unit="cgroups")
    assert numbers_text(level) == "7,320 -> 10 cgroups"
    assert numbers_text(replace(RESTARTS, after=None)) == "not measured"


def test_what_is_counted_as_one_is_told_where_there_are_any() -> None:
    resets = replace(
        RESTARTS,
        quantity="nic-resets",
        unit="resets/day",
        before=Measure(2880, 30, 1),
        after=Measure(0, 20, 0),
    )
    counted = "1 in 30 s, 0 in 20 s; lines of one device that follow closely are one"
    assert numbers_text(resets) == f"2,880 -> 0 resets/day ({counted})"
    none = replace(resets, before=Measure(0, 30, 0))
    assert numbers_text(none) == "0 -> 0 resets/day (0 in 30 s, 0 in 20 s)"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "sure", "said"),
    [
        (0.0004, 0.0, 0.25, 0.99999, "ratio 0 (95 %: 0 to 0.25); lower with over 99.9 %"),
        (1e9, 3.5, 1e12, 0.0012, "ratio over 1,000 (95 %: 3.5 to over 1,000); lower with 0 %"),
        (0.81234, 0.5, 1.2, 0.961, "ratio 0.812 (95 %: 0.5 to 1.2); lower with 96.1 %"),
        (None, 0.5, 1.2, 0.5, "ratio (95 %: 0.5 to 1.2); lower with 50 %"),
        (0.5, None, None, None, ""),
    ],
)
def test_ratios_are_told_as_exactly_as_anybody_needs(
    ratio: float | None, low: float | None, high: float | None, sure: float | None, said: str
) -> None:
    one = replace(RESTARTS, ratio=ratio, low=low, high=high, probability_better=sure)
    assert ratio_text(one) == said


def test_what_it_takes_to_know_more_is_said() -> None:
    assert why_text(RESTARTS) == "it halved"
    assert why_text(replace(RESTARTS, why="too few", needed_seconds=480.0)) == (
        "too few; it takes a window of at least 8 min"
    )
