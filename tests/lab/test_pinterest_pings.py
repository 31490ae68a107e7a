"""Pings go at their pace, whether those before have come back or not, and tell a busy core."""

from __future__ import annotations

import os

import pytest

from lab.faults.hogs import kernel_hog
from lab.scenarios.pinterest.pings import EVERY_SECONDS, SECONDS, ping
from lab.training.network import two_hosts, why_not

pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a core beside the busy one"),
]
CORE = (os.cpu_count() or 1) - 1


def test_a_busy_core_makes_them_late_and_they_are_as_many() -> None:
    others = os.sched_getaffinity(0)
    os.sched_setaffinity(0, others - {CORE})
    try:
        with two_hosts(CORE) as network:
            quiet = ping(network)
            with kernel_hog(CORE):
                late = ping(network)
    finally:
        os.sched_setaffinity(0, others)
    assert quiet.sent == late.sent == round(SECONDS / EVERY_SECONDS)
    assert len(quiet.seconds) == quiet.sent
    assert len(late.seconds) > late.sent / 2
    # How quick the quiet ones are is not asked: others may be on that core as well. How late the last
    # one is depends on the scheduler's slice: 9 ms on one machine, 26 ms on another.
    assert late.median_ms
    assert late.median_ms > 1.0
