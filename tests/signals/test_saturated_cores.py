"""A core that stays in the kernel is told while it lasts, and how long it was in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from necroscope.model.event import Event
from necroscope.model.reading import Absence, Reading
from necroscope.signals.saturated_cores import SaturatedCores
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.processes import PROCESSES, Processes, Task
from necroscope.store.segment import Moment
from tests.segments import BEGIN_NS, core_seconds, segment_of

SECOND_NS = 10**9


def told(moments: Sequence[Moment], **limits: float) -> list[tuple[int, Event]]:
    """The events, each with the second in which it was told."""
    thresholds = {**load_thresholds(None), **{f"core-saturated.{name}": v for name, v in limits.items()}}
    cores = SaturatedCores(thresholds)
    return [
        ((moment.time_ns - BEGIN_NS) // SECOND_NS, event)
        for moment in moments
        for event in cores.look(moment)
    ]


def moments_of(*cores: Sequence[str]) -> list[Moment]:
    return list(segment_of({CORES: core_seconds(*cores)}).moments)


def test_it_is_told_after_three_seconds_when_it_has_doubled_and_when_it_ends() -> None:
    busy = ["idle", *["system"] * 8, "idle", "idle"]
    (first, noticed), (second, doubled), (third, ended) = told(moments_of(["idle"] * 11, busy))
    assert (first, second, third) == (4, 7, 10)
    assert (noticed.kind, noticed.core, noticed.time_ns) == ("core-saturated", 1, BEGIN_NS + SECOND_NS)
    assert (noticed.seconds, doubled.seconds, ended.seconds) == (3.0, 6.0, 8.0)
    assert (ended.time_ns, ended.sequence) == (noticed.time_ns, noticed.sequence), "the same id"
    assert ended.text == "core 1 was 100% in the kernel for 8 s"


def test_one_that_ends_as_soon_as_it_is_told_is_told_once() -> None:
    ((second, event),) = told(moments_of(["system"] * 3 + ["idle"] * 3))
    assert (second, event.seconds) == (3, 3.0)


def test_short_bursts_and_user_space_are_nothing() -> None:
    assert not told(moments_of(["system", "system", "idle"] * 4, ["user"] * 12, ["steal"] * 12))


def test_softirqs_and_interrupts_count_as_kernel_time() -> None:
    ((_, event),) = told(moments_of(["softirq=50,irq=30,idle=20"] * 3))
    assert "80% in the kernel" in event.text


def test_every_core_has_its_own_run_and_number() -> None:
    events = told(moments_of(["system"] * 4, ["idle", "system", "system", "system"], ["idle"] * 4))
    assert [(event.core, event.sequence) for _, event in events] == [(0, 1), (1, 2)]


def test_the_end_of_one_is_told_under_its_own_id_while_another_lasts() -> None:
    plans = [["system"] * 5 + ["idle"] * 3, ["idle"] * 2 + ["system"] * 6]
    ends = [event for second, event in told(moments_of(*plans)) if second == 6]
    assert [(event.core, event.sequence, event.seconds) for event in ends] == [(0, 1, 5.0)]


def test_two_runs_of_one_core_are_two_events() -> None:
    events = [event for _, event in told(moments_of(["system"] * 3 + ["idle"] + ["system"] * 3))]
    assert [(event.time_ns - BEGIN_NS) // SECOND_NS for event in events] == [0, 4]
    assert len({event.sequence for event in events}) == 2


def test_a_core_that_was_offline_meanwhile_was_not_in_the_kernel_all_the_time() -> None:
    moments = moments_of(["idle"] * 60, ["system"] * 60)
    for second in range(6, 50):
        cores: Any = moments[second].readings[CORES.id].value
        moments[second] = replace(moments[second], readings={CORES.id: Reading(cores[:1])})
    events = [event for _, event in told(moments)]
    assert [event.seconds for event in events] == [3.0, 5.0, 3.0, 6.0]
    assert [(event.time_ns - BEGIN_NS) // SECOND_NS for event in events] == [0, 0, 50, 50]


def test_the_process_that_used_the_core_most_is_named() -> None:
    tasks = (
        Task(812, 830, "kubelet", 1, 10, 60, "kubelet.service"),
        Task(77, 77, "bash", 1, 0, 20, ""),
        Task(900, 900, "python", 0, 99, 0, ""),
    )
    segment = segment_of(
        {CORES: core_seconds(["idle"] * 4, ["system"] * 4), PROCESSES: [Processes(3, tasks)] * 5}
    )
    ((_, event),) = told(segment.moments)
    assert (event.process, event.pid, event.unit) == ("kubelet", 812, "kubelet.service")
    assert event.text.endswith("kubelet (pid 812) first of all")


def test_a_moment_without_counters_does_not_end_a_run() -> None:
    moments = moments_of(["system"] * 4)
    absent: Reading[object] = Reading(absence=Absence.BROKEN)
    moments[2] = replace(moments[2], readings={CORES.id: absent})
    moments.insert(2, Moment(moments[1].time_ns + 5, {}, {}))
    ((second, event),) = told(moments)
    assert (second, event.seconds) == (3, 3.0)


def test_thresholds_are_those_in_force() -> None:
    plan = ["system=60,user=40"] * 6
    assert not told(moments_of(plan))
    ((second, _),) = told(moments_of(plan), kernel_ratio=0.5, seconds=5)
    assert second == 5
