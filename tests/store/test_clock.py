from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from necroscope.store import clock
from necroscope.store.clock import STEP_NS, Anchor, take_anchor


def test_time_of_day_of_a_recorded_instant() -> None:
    anchor = Anchor(monotonic_ns=5 * 10**9, utc_ns=1_776_247_331 * 10**9)
    assert anchor.iso(5 * 10**9) == "2026-04-15T10:02:11.000Z"
    assert anchor.iso(4_750 * 10**6) == "2026-04-15T10:02:10.750Z"


def test_an_anchor_agrees_with_both_clocks() -> None:
    anchor = take_anchor()
    error = (time.time_ns() - time.monotonic_ns()) - (anchor.utc_ns - anchor.monotonic_ns)
    assert abs(error) < 10**7


def test_an_anchor_has_all_clocks_of_one_instant() -> None:
    anchor = take_anchor()
    boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    raw_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
    assert 0 <= boot_ns - anchor.boot_ns < 10**8
    assert 0 <= raw_ns - anchor.raw_ns < 10**8
    assert anchor.log_ns is None, "only the log clock's own measurement tells"


def later(anchor: Anchor, *, utc_ns: int = 0, boot_ns: int = 0) -> Anchor:
    """A second later, with some more time passed on two of the clocks."""
    return Anchor(
        anchor.monotonic_ns + 10**9, anchor.utc_ns + 10**9 + utc_ns, anchor.boot_ns + 10**9 + boot_ns
    )


FIRST = Anchor(5 * 10**9, 1_776_247_331 * 10**9, 5 * 10**9)


@pytest.mark.parametrize("moved_ns", [0, 500_000, STEP_NS, -STEP_NS])
def test_slewing_is_no_step(moved_ns: int) -> None:
    assert not later(FIRST, utc_ns=moved_ns).stepped_from(FIRST)


@pytest.mark.parametrize("moved_ns", [STEP_NS + 1, -STEP_NS - 1, 3600 * 10**9, -3600 * 10**9])
def test_a_clock_that_was_set_is_a_step_either_way(moved_ns: int) -> None:
    assert later(FIRST, utc_ns=moved_ns).stepped_from(FIRST)


def test_suspend_is_a_step_and_its_length_is_known() -> None:
    woken = later(FIRST, utc_ns=60 * 10**9, boot_ns=60 * 10**9)
    assert woken.stepped_from(FIRST)
    assert woken.suspended_ns - FIRST.suspended_ns == 60 * 10**9
    assert later(FIRST, utc_ns=60 * 10**9).suspended_ns == FIRST.suspended_ns


def test_a_machine_whose_clock_is_not_synchronised_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, synchronised in ((0, True), (1, True), (clock.TIME_ERROR, False), (-1, True)):
        libc = SimpleNamespace(adjtimex=lambda _, answer=answer: answer)
        monkeypatch.setattr(clock, "_libc", lambda libc=libc: libc)
        assert take_anchor().synchronised is synchronised
    monkeypatch.setattr(clock, "_libc", SimpleNamespace)
    assert take_anchor().synchronised, "one that cannot say is believed"
