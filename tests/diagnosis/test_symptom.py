from __future__ import annotations

from dataclasses import replace

from necroscope.diagnosis.symptom import LONGEST_NS, lines_of_stall, symptom_events, symptom_of
from necroscope.model.event import Event
from necroscope.signals.thresholds import load_thresholds
from tests.diagnosis.scenes import NIC_LINE, SECOND_NS, scene_of

THRESHOLDS = load_thresholds(None)
SATURATED = Event("core-saturated", NIC_LINE.time_ns, "cores", "core 0 was ...", core=0, seconds=12.0)
LEAK = Event("cgroup-leak", NIC_LINE.time_ns, "ledger", "ecs.service leaked ...", unit="ecs.service")


def later(event: Event, seconds: float) -> Event:
    return replace(event, time_ns=event.time_ns + int(seconds * SECOND_NS))


def test_the_gravest_kind_is_explained() -> None:
    assert symptom_events([LEAK, SATURATED, NIC_LINE], THRESHOLDS) == [NIC_LINE]
    assert symptom_events([LEAK, SATURATED], THRESHOLDS) == [SATURATED]
    assert symptom_events([LEAK], THRESHOLDS) == [LEAK]
    assert symptom_events([Event("unit-restart", 1, "units", "")], THRESHOLDS) == []


def test_lines_about_one_stall_are_one_symptom_and_the_telling_one_is_taken() -> None:
    resetting = replace(
        later(NIC_LINE, 1), rule="ena-resetting", queue=None, napi_scheduled=None, phase="reset"
    )
    done = replace(later(NIC_LINE, 2), rule="ena-reset-done", queue=None, napi_scheduled=None, phase="done")
    assert symptom_events([resetting, NIC_LINE, done], THRESHOLDS) == [NIC_LINE]
    assert lines_of_stall([resetting, NIC_LINE, done], NIC_LINE, THRESHOLDS) == 2
    assert lines_of_stall([NIC_LINE, later(NIC_LINE, 40)], NIC_LINE, THRESHOLDS) == 1


def test_of_two_lines_that_tell_the_same_the_first_is_explained() -> None:
    assert symptom_events([NIC_LINE, later(NIC_LINE, 10)], THRESHOLDS) == [NIC_LINE]


def test_stalls_of_two_devices_or_of_two_times_are_told_apart_the_newest_first() -> None:
    other = replace(later(NIC_LINE, 5), device="eth1")
    again = later(NIC_LINE, 600)
    assert symptom_events([NIC_LINE, other, again], THRESHOLDS) == [again, other, NIC_LINE]


def test_the_window_is_as_long_as_the_stall() -> None:
    scene = scene_of(["idle"] * 8)
    short, long = replace(NIC_LINE, stall_seconds=0.1), replace(NIC_LINE, stall_seconds=15.0)
    assert symptom_of(scene, short).begin_ns == NIC_LINE.time_ns - 5 * SECOND_NS
    assert symptom_of(scene, long).begin_ns == NIC_LINE.time_ns - 15 * SECOND_NS
    mad = symptom_of(scene, replace(NIC_LINE, stall_seconds=1e9))
    assert mad.end_ns - mad.begin_ns == LONGEST_NS


def test_a_core_that_stays_full_is_looked_at_while_it_is() -> None:
    found = symptom_of(scene_of(["idle"] * 8), SATURATED)
    assert (found.begin_ns, found.end_ns) == (SATURATED.time_ns, SATURATED.time_ns + 12 * SECOND_NS)
