"""Real zombie memory cgroups, leaked and purged on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from lab.faults.zombies import in_use, tracked, why_not, zombies
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import open_memory_cgroups
from tests.real.conftest import evidence, findings

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
Doctor = Callable[..., dict[str, Any]]


def test_three_thousand_are_counted_and_gone_after_the_purge(doctor: Doctor) -> None:
    with zombies(3_000):
        (finding,) = findings(doctor("-d", "1s"), "zombie-memory-cgroups")
        kernel = tracked() - in_use()
        assert kernel >= 2_990
        assert abs(evidence(finding)["zombies"] - kernel) <= kernel * 0.01
    assert findings(doctor("-d", "1s"), "zombie-memory-cgroups") == []


@pytest.mark.servers  # half a minute
def test_at_fifty_thousand_the_source_still_takes_under_20_ms() -> None:
    read = open_memory_cgroups(Host())
    with zombies(50_000):
        times = []
        for _ in range(5):
            began = time.perf_counter()
            reading = read()
            times.append(time.perf_counter() - began)
        assert reading.value and reading.value.memory.dying >= 49_900
        assert min(times) < 0.020, times
