from __future__ import annotations

import argparse
import time
from datetime import datetime

import pytest

from necroscope.cli.times import Moment, moment, span
from necroscope.errors import UsageError
from tests.stored import listed_segment


def test_a_duration_is_that_long_ago() -> None:
    assert abs(time.time_ns() - moment("10m").ns - 600 * 10**9) < 10**9
    assert abs(time.time_ns() - moment("now").ns) < 10**9


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2026-04-15T10:02:11Z", 1_776_247_331_000_000_000),
        ("2026-04-15T12:02:11.250+02:00", 1_776_247_331_250_000_000),
        ("1776247331", 1_776_247_331_000_000_000),
        ("1776247331.000000001", 1_776_247_331_000_000_001),
    ],
)
def test_absolute_times_are_exact(text: str, ns: int) -> None:
    assert moment(text) == Moment(ns)


def test_a_time_of_day_is_its_last_occurrence_here() -> None:
    for text in ("00:00", "14:00", "23:59:59.5"):
        then = moment(text).ns / 1e9
        assert time.time() - 86400 <= then <= time.time()
        assert datetime.fromtimestamp(then).strftime("%H:%M") == text[:5]


def test_a_plus_sign_counts_from_the_beginning() -> None:
    segment = listed_segment(1000 * 10**9, 2000 * 10**9)
    assert moment("+70s").utc_ns([segment]) == 1070 * 10**9
    with pytest.raises(UsageError):
        moment("+70s").utc_ns([])


@pytest.mark.parametrize("text", ["", "soon", "25:00", "10:61", "2026-13-01", "+", "+x", "1", "10q", "now.."])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a time such as"):
        moment(text)


def test_a_span_is_two_times() -> None:
    assert span("1776247331..1776247336")[1].ns - span("1776247331..1776247336")[0].ns == 5 * 10**9
    with pytest.raises(argparse.ArgumentTypeError):
        span("10m")
