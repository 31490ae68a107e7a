"""One clock: marks by programs that spin, and a wall clock that is set by an hour and back."""

from __future__ import annotations

import logging
import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lab.faults import kernel_lines, wall_clock
from lab.faults.hogs import user_hog
from lab.faults.marks import Mark, mark_and_spin
from lab.faults.wall_clock import clock_set_by
from necroscope.sources.cores import CORES
from necroscope.store.read_range import read_moments
from necroscope.store.retention import Budget, in_order, make_room, read_entries
from tests.real import recorders
from tests.real.recorders import (
    SECOND_NS,
    ask,
    events_of,
    recording,
    require_all_open,
    require_tidy,
    segments_of,
)

REASON = recorders.why_not() or kernel_lines.why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
LOG = logging.getLogger(__name__)
HOUR_NS = 3600 * SECOND_NS
CLOCKS_AGREE_NS = 10_000_000


def samples_of(body: dict[str, Any], comm: str) -> int:
    """Samples at the roots with a name."""
    tree = body["tree"]
    names = [label["name"] for label in tree["labels"]]
    rows = zip(tree["parent"], tree["label"], tree["total"], strict=True)
    return sum(total for parent, label, total in list(rows)[1:] if parent == 0 and names[label] == comm)


def test_a_program_that_marks_and_spins_is_found_on_its_core(tmp_path: Path) -> None:
    store, marks = tmp_path / "store", []
    with recording(store, "--segment", "3s", "--keep-perf-data") as one:
        time.sleep(1)
        for number in range(6):
            marks.append(mark_and_spin(number % 2, f"{number}-{os.getpid()}"))
            time.sleep(0.9)
        code, _ = one.end()
    assert code == 0, one.said()
    events = {
        event["text"]: event
        for event in ask("events", "--store", str(store), "--kind", "user-mark")["events"]
    }
    for mark in marks:
        (text,) = [text for text in events if text.endswith(f"necroscope mark: {mark.text}")]
        require_on_its_core(store, mark, events[text]["id"])
    times = {event.id: event.event.time_ns for event in events_of(store, "user-mark")}
    errors = []
    for mark in marks:
        (found,) = [event for event in events.values() if event["text"].endswith(mark.text)]
        errors.append(times[found["id"]] - (mark.before_ns + mark.after_ns) // 2)
    against_perf = [s.description.profile.log_clock_error_ns for s in segments_of(store)]
    LOG.info("ns against the program's clock: %s; against perf's: %s", errors, against_perf)
    assert all(abs(error) < CLOCKS_AGREE_NS for error in errors), errors
    measured = [error for error in against_perf if error is not None]
    assert all(abs(error) < CLOCKS_AGREE_NS for error in measured), against_perf
    has_tracepoint = any("printk:console" in s.description.profile.events for s in segments_of(store))
    assert bool(measured) == has_tracepoint


def require_on_its_core(store: Path, mark: Mark, id: str) -> None:
    words = ("flame", "--store", str(store), "--around", id)
    here = samples_of(ask(*words, "--cpu", str(mark.core)), mark.comm)
    assert 6 <= here <= 14, (mark, here)  # 100 ms of CPU time at 97 Hz
    everywhere = samples_of(ask(*words), mark.comm)
    assert everywhere == here, "and on no other"


@pytest.mark.skipif(wall_clock.why_not() is not None, reason=str(wall_clock.why_not()))
def test_a_clock_that_is_set_by_an_hour_moves_no_recorded_second(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with user_hog(0), user_hog(1), recording(store, "--segment", "30s") as one:
        right_ns = time.time_ns() - time.monotonic_ns()
        time.sleep(4)
        with clock_set_by(3600):
            time.sleep(2.5)
            mark = mark_and_spin(0, f"late-{os.getpid()}")
            time.sleep(2.5)
        time.sleep(3)
        code, _ = one.end()
    assert code == 0, one.said()
    before, late, after = segments_of(store)

    moments = [
        (segment, moment) for segment in (before, late, after) for moment in read_moments(segment, (CORES,))
    ]
    times = [moment.time_ns for _, moment in moments]
    assert all(0 <= after - before < 1.6 * SECOND_NS for before, after in pairwise(times)), times
    shown = [segment.offset_ns - right_ns for segment in (before, late, after)]
    assert all(abs(s - w) < 5_000_000 for s, w in zip(shown, (0, HOUR_NS, 0), strict=True)), shown

    steps = [event.event for event in events_of(store, "clock-step")]
    assert [round(step.seconds or 0) for step in steps] == [3600, -3600]

    (event,) = [e for e in events_of(store, "user-mark") if e.event.text.endswith(mark.text)]
    assert abs(event.event.time_ns - mark.after_ns) < CLOCKS_AGREE_NS
    body = ask("flame", "--store", str(store), "--around", event.id)
    assert 6 <= samples_of(body, mark.comm) <= 14
    assert body["samples"] > 2 * 97 * 6 * 0.9, (
        "five seconds before, of which half are before the step, one after"
    )

    host = before.folder.parent
    entries = in_order(read_entries(host))
    assert [entry.name for entry in entries] == [s.folder.name for s in (before, late, after)]
    require_all_open(store)
    require_tidy(store)
    room = sum(entry.size_bytes for entry in entries) - 1
    make_room(host, Budget(room, 0), time.time_ns())
    assert [s.folder for s in segments_of(store)] == [late.folder, after.folder], "the oldest goes first"
