"""Holes in a recording are findings, and a whole one has none."""

from __future__ import annotations

from dataclasses import replace

from necroscope.findings.capture_gap import capture_gap, recorder_findings
from necroscope.findings.detector import Case
from necroscope.model.event import Event
from necroscope.model.recorder_status import Status
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from tests.segments import BEGIN_NS, core_seconds, evidence, look, segment_of

SEGMENT = segment_of({CORES: core_seconds(["idle"] * 5)})
WELL = Status(0, 10, 1, 0, 0, "", 0, 0, "cpu-clock at 97 Hz", "", 1, 0, 0.0, ())


def test_a_whole_look_has_no_hole() -> None:
    assert not look(capture_gap, SEGMENT)


def test_a_moment_that_came_late_is_a_hole() -> None:
    moments = list(SEGMENT.moments)
    moments[-1] = replace(moments[-1], time_ns=moments[-1].time_ns + 4 * 10**9)
    (finding,) = look(capture_gap, replace(SEGMENT, moments=tuple(moments)))
    assert "1 hole" in finding.summary and "5.0 s" in finding.summary


def test_a_hole_that_was_noted_counts_once() -> None:
    moments = list(SEGMENT.moments)
    moments[-1] = replace(moments[-1], time_ns=moments[-1].time_ns + 4 * 10**9)
    noted = Event("capture-gap", moments[-2].time_ns, "counters", "the recorder did not run", seconds=5.0)
    holed = replace(SEGMENT, moments=tuple(moments))
    (finding,) = capture_gap.look(Case(holed, (noted,), load_thresholds(None)))
    assert "1 hole" in finding.summary and list(evidence(finding).values()) == [noted.text]


def test_what_the_recorder_noted_is_told_longest_first() -> None:
    gaps = tuple(
        Event("capture-gap", BEGIN_NS + n * 10**9, "perf", f"no samples for {n} s", seconds=n)
        for n in (1, 3, 2, 4)
    )
    (finding,) = capture_gap.look(Case(SEGMENT, gaps, load_thresholds(None)))
    assert "4 holes" in finding.summary and "10.0 s" in finding.summary
    assert list(evidence(finding).values()) == [f"no samples for {n} s" for n in (4, 3, 2)]


def test_a_recorder_that_is_well_has_nothing_to_say() -> None:
    assert not list(recorder_findings(WELL))


def test_a_recorder_that_cannot_write_says_so() -> None:
    (finding,) = recorder_findings(replace(WELL, store_error="No space left on device", frames_dropped=7))
    assert evidence(finding) == {"the store": "No space left on device", "seconds given up": "7"}
