"""Times are written in one way, and never rounded up to a time that is still to come."""

from __future__ import annotations

import pytest

from necroscope.model.event import Event, event_id
from necroscope.model.timestamp import SECOND_NS, compact_utc, iso_utc, iso_utc_seconds, parse_compact_utc

UTC_NS = 1_776_247_331 * SECOND_NS + 250_999_999


def test_a_time_in_milliseconds_and_in_seconds() -> None:
    assert iso_utc(UTC_NS) == "2026-04-15T10:02:11.250Z"
    assert iso_utc_seconds(UTC_NS + SECOND_NS // 2) == "2026-04-15T10:02:11Z"
    assert iso_utc(0) == "1970-01-01T00:00:00.000Z"


def test_a_time_in_a_file_name() -> None:
    assert compact_utc(UTC_NS) == "20260415T100211Z"
    assert parse_compact_utc("20260415T100211Z") == UTC_NS // SECOND_NS * SECOND_NS
    for text in ("", "2026-04-15T10:02:11Z", "20260415T100211Z-1"):
        with pytest.raises(ValueError, match="data"):
            parse_compact_utc(text)


def test_the_id_of_an_event_has_the_same_time() -> None:
    assert event_id(Event("oom-kill", 1, "rule", "", 7), UTC_NS) == "oom-kill-20260415T100211.250Z-7"
