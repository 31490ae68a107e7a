"""Time that nobody saw."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.event import Event
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.recorder_status import Status
from necroscope.sources.cores import CORES
from necroscope.store.segment import MAX_STEP_NS

LONGEST_NAMED = 3


@detector("capture-gap", needs=(CORES,))
def capture_gap(case: Case) -> Iterator[Finding]:
    """Some of the time has no counters or no samples, so what happened then is not known.

    Fires on moments of a look that came seconds late and, of a recording, on every hole that the recorder
    noted: perf was killed, the disk was full, the recorder itself did not get to run.

    A hole is not a healthy stretch: the machine may have been at its worst just then. A recorder that was
    not scheduled for seconds is itself a sign of a node that starves.

    To do: see why in the events (`necroscope events`); give the store more room, or perf its permission.
    """
    gaps = [event for event in case.events if event.kind == "capture-gap"]
    noted = {event.time_ns for event in gaps}
    gaps += [
        _late(before.time_ns, after.time_ns)
        for before, after in pairwise(case.segment.moments)
        if case.segment.is_live
        and after.time_ns - before.time_ns > MAX_STEP_NS
        and before.time_ns not in noted  # the recorder has told of this one
    ]
    if gaps:
        seconds = sum(event.seconds or 0.0 for event in gaps)
        longest = sorted(gaps, key=lambda event: -(event.seconds or 0.0))[:LONGEST_NAMED]
        yield _finding(
            f"{len(gaps)} {'hole' if len(gaps) == 1 else 'holes'} in the recording, {seconds:.1f} s in all",
            [
                Evidence(case.segment.anchor.iso(event.time_ns), event.text, "", "recorder")
                for event in longest
            ],
        )


def recorder_findings(status: Status) -> Iterator[Finding]:
    """What is wrong with a recording, as its recorder knows it."""
    facts = [
        ("the store", status.store_error),
        ("samples", status.profiling_error),
        ("sealing", status.sealing_error),
        ("segments sealed without all that was in them", str(status.segments_incomplete or "")),
        ("holes", f"{status.gaps}, {status.gap_seconds:.1f} s in all" if status.gaps else ""),
        ("seconds given up", str(status.frames_dropped) if status.frames_dropped else ""),
    ]
    evidence = [Evidence(name, text, "", "recorder") for name, text in facts if text]
    if evidence:
        yield _finding("the recording is not complete", evidence)


def _late(begin_ns: int, end_ns: int) -> Event:
    seconds = round((end_ns - begin_ns) / 1e9, 3)
    return Event("capture-gap", begin_ns, "counters", f"no counters for {seconds} s", seconds=seconds)


def _finding(summary: str, evidence: list[Evidence]) -> Finding:
    return Finding(
        id="capture-gap",
        severity=Severity.WARNING,
        summary=summary,
        evidence=tuple(evidence),
        advice=(Advice("do not take these stretches for healthy ones"),),
    )
