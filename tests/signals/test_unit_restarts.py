"""Restarts are counted once, whatever happens to the count of systemd; all who report them read the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from necroscope.diagnosis.leaks import find_loops
from necroscope.diagnosis.scene import Scene
from necroscope.exporter.meter import Meter
from necroscope.findings.unit_crash_loop import unit_crash_loop
from necroscope.model.reading import Absence, Reading
from necroscope.model.time_range import TimeRange
from necroscope.remedies.verify.observe import Recording, observe
from necroscope.remedies.verify.quantities import UNIT_RESTARTS
from necroscope.signals.thresholds import load_thresholds
from necroscope.signals.unit_restarts import UnitRestarts, count_restarts, over
from necroscope.signals.watch import Watch
from necroscope.sources.units import UNITS, Unit, Units
from necroscope.store.read_range import read_stretch
from necroscope.store.segment import Moment, Segment
from tests.segments import BEGIN_NS, evidence, look, segment_of
from tests.stored import SECOND_NS, moment_of, sealed_segment

THRESHOLDS = load_thresholds(None)
REFUSED: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED)
RESTARTED = re.compile(r"(\S+) was started again (?:once|(\d+) times)")
# Two counts that are set back, one between two readings with more restarts than before; a service that comes
# and goes; one that never fails.
READINGS: list[dict[str, int | None]] = [
    {"ecs": 40, "agent": 7, "good": 0},
    {"ecs": 43, "agent": 2, "good": 0},
    {"ecs": 1, "agent": 2, "good": 0, "late": 3},
    {"ecs": 5, "agent": 2, "good": 0},
    {"ecs": 5, "agent": 9, "good": 0, "late": 1},
]
COUNTED = {"ecs.service": 3 + 1 + 4, "agent.service": 2 + 7, "late.service": 3 + 1}


def units(restarts: dict[str, int | None]) -> Units:
    state = ("", "activating", "auto-restart")
    return tuple(
        Unit(f"{name}.service", *state, count, "exit-code", "always", 1.0, 0, 1, "", "", "")
        for name, count in restarts.items()
    )


def counts(*readings: dict[str, int | None] | Reading[Any]) -> dict[str, int]:
    read = [one if isinstance(one, Reading) else units(one) for one in readings]
    return count_restarts(segment_of({UNITS: read}))


def test_a_rise_is_counted_with_its_time_and_so_is_rest() -> None:
    restarts = UnitRestarts()
    assert restarts.feed(moment_of(0, {UNITS: units({"a": 3, "b": 1})})) == []
    assert restarts.feed(moment_of(30, {})) == [], "units are read once a minute"
    a, b = restarts.feed(moment_of(60, {UNITS: units({"a": 5, "b": 1})}))
    assert (a.unit.name, a.unit.restarts, a.count) == ("a.service", 5, 2)
    assert (b.unit.name, b.count) == ("b.service", 0)
    assert (a.begin_ns, a.end_ns) == (BEGIN_NS, BEGIN_NS + 60 * SECOND_NS)


def test_a_segment_has_what_a_recorder_sees() -> None:
    segment = segment_of({UNITS: [units({"a": count}) for count in (3, 5, 2)]})
    live = UnitRestarts()
    assert [*over(segment)] == [one for moment in segment.moments for one in live.feed(moment)]


def test_a_count_that_was_set_back_begins_at_0() -> None:
    assert counts({"a": 40}, {"a": 42}, {"a": 3}, {"a": 5}) == {"a.service": 7}
    assert counts({"a": 9}, {"a": 0}) == {"a.service": 0}


def test_a_unit_that_was_inactive_begins_at_0() -> None:
    assert counts({}, {"a": 2}, {"a": 3}) == {"a.service": 3}
    assert counts({"a": 9}, {}, {"a": 12}) == {"a.service": 12}, "it was started by hand meanwhile"


def test_a_reading_that_failed_loses_no_restart() -> None:
    assert counts({"a": 1}, REFUSED, {"a": 4}) == {"a.service": 3}


def test_an_old_systemd_counts_no_restarts() -> None:
    assert counts({"a": None}, {"a": None}) == {}
    assert counts({"a": None}, {"a": 7}, {"a": 8}) == {"a.service": 1}


def test_events_metrics_findings_diagnosis_and_verify_count_the_same(tmp_path: Path) -> None:
    moments = [moment_of(60 * n, {UNITS: units(read)}) for n, read in enumerate(READINGS)]
    stored = sealed_segment(tmp_path, moments)
    (segment,) = read_stretch([stored], TimeRange(stored.begin_ns, stored.end_ns + 1))
    assert _in_events(moments) == COUNTED
    assert _in_metrics(moments) == COUNTED
    assert _in_findings(segment) == COUNTED
    loops = find_loops(Scene(segment, (), THRESHOLDS), segment.end_ns)
    assert {loop.unit: loop.restarts for loop in loops} == COUNTED
    recording = Recording([stored], THRESHOLDS, [])
    window = TimeRange(stored.begin_ns, stored.end_ns)
    spans = {name: observe(UNIT_RESTARTS, name, recording, window) for name in (*COUNTED, "good.service")}
    assert {name: one.amount for name, one in spans.items()} == {**COUNTED, "good.service": 0}


def _in_events(moments: Sequence[Moment]) -> dict[str, int]:
    watch, found = Watch(THRESHOLDS), dict.fromkeys(COUNTED, 0)
    for event in (event for moment in moments for event in watch(moment)):
        match = RESTARTED.match(event.text)
        assert match and match[1] == event.unit
        found[event.unit] += int(match[2] or 1)
    return found


def _in_metrics(moments: Sequence[Moment]) -> dict[str, float]:
    meter = Meter(THRESHOLDS)
    for moment in moments:
        meter.observe(moment)
    family = "necroscope_unit_restarts_by_unit_total"
    return {sample.labels[0]: sample.value for sample in meter.samples() if sample.family == family}


def _in_findings(segment: Segment) -> dict[str, Any]:
    found = look(unit_crash_loop, segment)
    return {one.subject: evidence(one)["restarts while looking"] for one in found}
