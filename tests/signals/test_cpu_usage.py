from __future__ import annotations

from dataclasses import replace

from necroscope.signals.cpu_usage import CpuUsages, sum_usage, usage_by_cpu
from necroscope.sources.cores import CORES
from tests.segments import core_seconds, segment_of


def test_shares_of_every_core_and_second() -> None:
    cores = usage_by_cpu(segment_of({CORES: core_seconds(["system", "idle"], ["user=25,idle=75", "steal"])}))
    assert [usage.ratio("system") for usage in cores[0]] == [1.0, 0.0]
    assert [(usage.user, usage.idle, usage.steal) for usage in cores[1]] == [(25, 75, 0), (0, 0, 100)]
    assert cores[1][1].ratio("busy") == 1.0


def test_a_core_that_comes_and_goes_is_left_out_there() -> None:
    first, second, third = core_seconds(["idle", "idle"], ["system", "system"])
    cores = usage_by_cpu(segment_of({CORES: [first, second[:1], third]}))
    assert len(cores[0]) == 2
    assert 1 not in cores


def test_idle_time_that_steps_back_is_no_negative_share() -> None:
    before, after = core_seconds(["system=100"])
    moments = [(replace(before[0], idle=5),), (replace(after[0], idle=4),)]
    (usage,) = usage_by_cpu(segment_of({CORES: moments}))[0]
    assert (usage.idle, usage.ratio("system")) == (0, 1.0)


def test_who_forgets_a_reading_compares_the_next_one_with_none() -> None:
    first, second, third = core_seconds(["idle", "system"])
    usages = CpuUsages()
    assert usages.feed(0, first) == []
    usages.forget()
    assert usages.feed(1, second) == []
    ((cpu, usage),) = usages.feed(2, third)
    assert (cpu, usage.begin_ns, usage.end_ns, usage.kernel) == (0, 1, 2, 100)


def test_intervals_make_a_longer_one() -> None:
    usages = usage_by_cpu(segment_of({CORES: core_seconds(["system", "user=25,idle=75", "softirq"])}))[0]
    both = sum_usage(usages[:2])
    assert (both.begin_ns, both.end_ns) == (usages[0].begin_ns, usages[1].end_ns)
    assert (both.total, both.ratio("system"), both.ratio("idle")) == (200, 0.5, 0.375)
