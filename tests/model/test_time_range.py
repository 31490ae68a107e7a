from __future__ import annotations

import pytest

from necroscope.model.time_range import TimeRange

RANGE = TimeRange(10, 20)


@pytest.mark.parametrize(("time_ns", "is_inside"), [(9, False), (10, True), (19, True), (20, False)])
def test_the_end_is_not_in_a_range(time_ns: int, is_inside: bool) -> None:
    assert RANGE.contains(time_ns) is is_inside


@pytest.mark.parametrize(
    ("first_ns", "last_ns", "overlaps"),
    [(0, 9, False), (0, 10, True), (12, 13, True), (19, 30, True), (20, 30, False), (0, 30, True)],
)
def test_what_was_read_last_at_the_beginning_overlaps(first_ns: int, last_ns: int, overlaps: bool) -> None:
    assert RANGE.overlaps(first_ns, last_ns) is overlaps


def test_a_margin_is_on_both_sides() -> None:
    assert RANGE.widened(5) == TimeRange(5, 25)
