from __future__ import annotations

import math

import pytest

from necroscope.sources.systemd.time_spans import parse_time_span


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("10", 10), ("100ms", 0.1), ("5min 20s", 320), ("1.5h", 5400), ("2d3h", 183600), (" 7 s ", 7)),
        *(("0", 0), ("1M", 2629800), ("1m", 60), ("1week", 604800), ("5µs", 5e-6), ("infinity", math.inf)),
    ],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert parse_time_span(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "abc", "5 parsecs", "-5", "5 5x", "s"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        parse_time_span(text)
