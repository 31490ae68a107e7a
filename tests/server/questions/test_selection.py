from __future__ import annotations

import pytest

from necroscope.errors import UsageError
from necroscope.server.questions.selection import LATEST_US, Filters, Range


def test_a_range_in_nanoseconds_and_in_words() -> None:
    span = Range("n", 1_776_247_200_000_000, 1_776_247_201_500_000)
    assert (span.time.begin_ns, span.time.end_ns) == (1_776_247_200 * 10**9, 1_776_247_201_500_000_000)
    assert span.seconds == 1.5
    assert span.words == "from 2026-04-15T10:00:00.000Z to 2026-04-15T10:00:01.500Z"


@pytest.mark.parametrize(("begin", "end"), [(5, 5), (6, 5), (-1, 5), (0, LATEST_US + 1), (2**70, 2**71)])
def test_a_range_that_is_none(begin: int, end: int) -> None:
    with pytest.raises(UsageError):
        Range("n", begin, end)


def test_a_range_that_is_too_long() -> None:
    span = Range("n", 0, 7_200_000_001)
    Range("n", 0, 7_200_000_000).require_at_most(7200, "a scope")
    with pytest.raises(UsageError, match="a scope is of 7200 s at most"):
        span.require_at_most(7200, "a scope")


@pytest.mark.parametrize(
    "change", [{"search": "x" * 201}, {"processes": ("x",) * 101}, {"threads": ("x" * 256,)}]
)
def test_filters_are_bounded(change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="at most"):
        Filters(**change)  # type: ignore[arg-type] # one of several fields
