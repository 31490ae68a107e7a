from __future__ import annotations

import time

from necroscope.recording.clock import Anchor, take_anchor


def test_time_of_day_of_a_recorded_instant() -> None:
    anchor = Anchor(monotonic_ns=5 * 10**9, utc_ns=1_776_247_331 * 10**9)
    assert anchor.iso(5 * 10**9) == "2026-04-15T10:02:11.000Z"
    assert anchor.iso(4_750 * 10**6) == "2026-04-15T10:02:10.750Z"


def test_an_anchor_agrees_with_both_clocks() -> None:
    anchor = take_anchor()
    error = (time.time_ns() - time.monotonic_ns()) - (anchor.utc_ns - anchor.monotonic_ns)
    assert abs(error) < 10**7
