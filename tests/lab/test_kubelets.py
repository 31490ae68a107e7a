"""A round of the stand-in takes kernel time that grows with the zombies, and frees none that are kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lab.faults.crash_loops import KEPT_BY_CACHES, leaked
from lab.faults.kubelets import (
    FEWEST_WALKS,
    MOST_WALKS,
    KubeletError,
    WalkCost,
    kubelet,
    measure_walks,
    why_not,
)
from lab.faults.leaking_units import why_not as why_no_disk
from lab.faults.zombies import zombies
from lab.recorders import wait_until

needs_zombies = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CORE = max(os.sched_getaffinity(0))


def test_walks_fill_what_the_statistics_leave() -> None:
    assert WalkCost(0.0, 150e-9).walks_for(20_000, 6.0) == 2000
    assert WalkCost(200e-6, 200e-9).walks_for(20_000, 4.5) == FEWEST_WALKS
    assert WalkCost(1e-3, 200e-9).walks_for(20_000, 6.0) == 0
    assert WalkCost(0.0, 1e-12).walks_for(20_000, 6.0) == MOST_WALKS


@needs_zombies
def test_a_walk_costs_something_for_every_zombie() -> None:
    before = leaked()
    cost = measure_walks(1_000)
    assert 1e-9 < cost.walk_seconds < 100e-6
    assert leaked() <= before + KEPT_BY_CACHES


@needs_zombies
@pytest.mark.skipif(why_no_disk() is not None, reason=str(why_no_disk()))
def test_its_rounds_grow_with_zombies_of_page_cache_and_leave_them(tmp_path: Path) -> None:
    with kubelet(CORE, 300, tmp_path / "rounds", every_seconds=1.0) as one:
        wait_until(one.rounds, 20, "a first round")
        before = one.rounds()[-1]
        with zombies(4_000, "/var/tmp"):
            wait_until(lambda: one.rounds()[-1].zombies >= 3_900, 60, "a round with zombies")
            time.sleep(3)  # more rounds
            during = one.rounds()[-1]
            assert leaked() >= 3_900
    assert before.seconds > 0
    assert during.seconds > 3 * before.seconds
    assert len(during.walks) == 20
    assert during.walks[-1].seconds > 3 * before.walks[-1].seconds
    assert during.begin_ns < during.walks[0].end_ns < during.walks[-1].end_ns <= during.end_ns
    assert during.system_seconds > 10 * during.user_seconds or during.user_seconds < 0.2
    assert not Path(f"/proc/{one.pid}").exists()


@needs_zombies
def test_one_that_dies_is_noticed_with_what_it_said(tmp_path: Path) -> None:
    no_such_core = 100_000
    with kubelet(no_such_core, 1, tmp_path / "rounds") as one:
        one.process.wait(10)
        with pytest.raises(KubeletError, match="Invalid argument"):
            one.check()
        assert one.rounds() == []
