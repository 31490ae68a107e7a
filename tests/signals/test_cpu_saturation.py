"""What a run is: the same for a recorder that feeds intervals, for a segment, and for hours from the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.model.reading import Reading
from necroscope.signals.cpu_saturation import CpuSaturation, Load, Run, SaturationRule, over
from necroscope.signals.cpu_usage import usage_by_cpu
from necroscope.signals.saturated_seconds import kernel_seconds, runs_in
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.store.segment import Moment
from tests.segments import BEGIN_NS, core_seconds, segment_of
from tests.stored import UTC_NS, moment_of, sealed_segment, seconds_of

SECOND_NS = 10**9
RULE = SaturationRule.of(load_thresholds(None))
LOADS = {"K": Load.KERNEL, "B": Load.BUSY, ".": Load.FREE}
Found = tuple[int, int, bool]  # from and to in seconds, in the kernel


def runs_of(seconds: str, rule: SaturationRule = RULE) -> list[Run]:
    """The runs of seconds in which a CPU was in the kernel, busy or free; of a blank nothing is known."""
    saturation = CpuSaturation(rule)
    ended: list[Run] = []
    for second, letter in enumerate(seconds):
        if letter != " ":
            ended += saturation.feed(0, second * SECOND_NS, (second + 1) * SECOND_NS, LOADS[letter])
    return ended + saturation.close()


def found(runs: Sequence[Run], begin_ns: int = 0) -> list[Found]:
    return [
        ((run.begin_ns - begin_ns) // SECOND_NS, (run.end_ns - begin_ns) // SECOND_NS, run.in_kernel)
        for run in runs
    ]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (".KKK.", [(1, 4, True)]),
        (".KK.KK.", []),
        ("BBBB.", [(0, 4, False)]),
        ("BBBKKK", [(0, 3, False), (3, 6, True)]),
        ("BKKB", [(0, 4, False)]),
        ("BKKKB", [(1, 4, True)]),
        ("KKBKKBKK", [(0, 8, False)]),
        ("BBKKKBBB", [(2, 5, True), (5, 8, False)]),
        (".KK KK.", [(1, 6, True)]),
        (".KK  KKK", [(5, 8, True)]),
        ("BB BB", [(0, 5, False)]),
        ("", []),
    ],
)
def test_long_runs_in_the_kernel_stand_alone_and_short_ones_belong_to_the_rest(
    seconds: str, expected: list[Found]
) -> None:
    assert found(runs_of(seconds)) == expected


@pytest.mark.parametrize(
    ("seconds", "cut"),
    [
        (".KKK.", False),
        ("KKK.", True),
        (".KKK", True),
        (". KKK.", False),
        (".  KKK.", True),
        (".KKK  .", True),
    ],
)
def test_a_run_is_cut_if_nothing_is_known_of_the_time_next_to_it(seconds: str, cut: bool) -> None:
    (run,) = runs_of(seconds)
    assert run.is_cut is cut


def test_a_rule_without_a_length_gives_every_run() -> None:
    assert found(runs_of("K.KK.B", replace(RULE, seconds=0))) == [(0, 1, True), (2, 4, True), (5, 6, False)]


def test_the_run_that_goes_on_is_known_however_short_it_is() -> None:
    saturation = CpuSaturation(RULE)
    assert saturation.in_kernel(3) is None
    assert saturation.feed(3, 0, SECOND_NS, Load.KERNEL) == []
    assert saturation.in_kernel(3) == Run(0, SECOND_NS, 3, True)
    assert saturation.feed(3, SECOND_NS, 2 * SECOND_NS, Load.FREE) == [] and saturation.in_kernel(3) is None


def test_what_fills_a_cpu() -> None:
    plans = ["system=70,idle=30"], ["steal=50,user=50"], ["user=96,idle=4"], ["user=60,idle=40"]
    usages = usage_by_cpu(segment_of({CORES: core_seconds(*plans)}))
    loads = [RULE.load(usage) for (usage,) in usages.values()]
    assert loads == [Load.KERNEL, Load.BUSY, Load.BUSY, Load.FREE]
    assert [RULE.filled_by(usages[cpu][0]) for cpu in range(3)] == ["kernel", "steal", "user"]


PLAN = [*["idle"] * 2, *["system"] * 4, "idle", *["system"] * 2, *["idle"] * 2, *["system"] * 3, "idle"]
EXPECTED = [(2, 6, True), (11, 14, True)]


def test_a_segment_and_the_grid_give_the_same_runs(tmp_path: Path) -> None:
    usages = usage_by_cpu(segment_of({CORES: core_seconds(PLAN)}))
    assert found(over(usages, RULE), BEGIN_NS) == EXPECTED
    segment = sealed_segment(tmp_path, seconds_of(PLAN))
    seconds = kernel_seconds([segment], UTC_NS, UTC_NS + len(PLAN) * SECOND_NS, RULE)
    assert found([*runs_in(seconds, RULE)], UTC_NS) == EXPECTED


def test_a_run_goes_on_in_the_next_segment(tmp_path: Path) -> None:
    """Between two segments there is a second without an interval."""
    plan = [*["idle"] * 3, *["system"] * 5, *["idle"] * 3]
    moments = seconds_of(plan)
    segments = [sealed_segment(tmp_path, part) for part in (moments[:6], moments[6:])]
    seconds = kernel_seconds(segments, UTC_NS, UTC_NS + len(plan) * SECOND_NS, RULE)
    assert found([*runs_in(seconds, RULE)], UTC_NS) == [(3, 8, True)]


def test_a_core_that_was_offline_meanwhile_was_not_saturated_all_the_time() -> None:
    counters = core_seconds(["idle"] * 12, ["system"] * 12)
    moments: list[Moment] = [moment_of(second, {CORES: value}) for second, value in enumerate(counters)]
    for second in (4, 5, 6):
        moments[second] = replace(moments[second], readings={CORES.id: Reading(counters[second][:1])})
    segment = replace(segment_of({CORES: counters}), moments=tuple(moments))
    assert found(over(usage_by_cpu(segment), RULE), BEGIN_NS) == [(0, 3, True), (7, 12, True)]
