from __future__ import annotations

from dataclasses import replace

from necroscope.signals.cpu_usage import shares_by_core
from necroscope.sources.cores import CORES
from tests.segments import core_seconds, segment_of


def test_shares_of_every_core_and_second() -> None:
    cores = shares_by_core(
        segment_of({CORES: core_seconds(["system", "idle"], ["user=25,idle=75", "steal"])})
    )
    assert [shares.system for shares in cores[0]] == [1.0, 0.0]
    assert [(shares.user, shares.idle, shares.steal) for shares in cores[1]] == [
        (0.25, 0.75, 0.0),
        (0.0, 0.0, 1.0),
    ]
    assert cores[1][1].busy == 1.0


def test_a_core_that_comes_and_goes_is_left_out_there() -> None:
    first, second, third = core_seconds(["idle", "idle"], ["system", "system"])
    cores = shares_by_core(segment_of({CORES: [first, second[:1], third]}))
    assert len(cores[0]) == 2
    assert 1 not in cores


def test_idle_time_that_steps_back_is_no_negative_share() -> None:
    before, after = core_seconds(["system=100"])
    moments = [(replace(before[0], idle=5),), (replace(after[0], idle=4),)]
    (shares,) = shares_by_core(segment_of({CORES: moments}))[0]
    assert (shares.idle, shares.system) == (0.0, 1.0)
