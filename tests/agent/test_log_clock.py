"""Kernel log lines on CLOCK_MONOTONIC: measured by a mark, or by how quickly lines arrive."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.agent import log_clock
from necroscope.agent.log_clock import DEBUG, MARK, PREEMPTED_NS, RENEW_NS, LogClock
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KernelLog, LogLine

SECOND_NS = 10**9
BEHIND_NS = 3 * SECOND_NS  # of the log clock, in all that follows


class Clocks:
    """CLOCK_MONOTONIC_RAW moves by `tick_ns` at each look; CLOCK_MONOTONIC is slewed against it."""

    CLOCK_MONOTONIC_RAW = 4

    def __init__(self) -> None:
        self.raw_ns = 1000 * SECOND_NS
        self.slewed_ns = 0
        self.tick_ns = 0

    def clock_gettime_ns(self, clock: int) -> int:
        assert clock == self.CLOCK_MONOTONIC_RAW
        self.raw_ns += self.tick_ns
        return self.raw_ns

    def monotonic_ns(self) -> int:
        return self.raw_ns + self.slewed_ns

    def log_ns(self) -> int:
        return self.raw_ns - BEHIND_NS


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(log_clock, "time", clocks)
    return clocks


@pytest.fixture
def kmsg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in the place of the log device."""
    path = tmp_path / "kmsg"
    path.touch()
    monkeypatch.setattr(log_clock, "open_device", lambda _: os.open(path, os.O_WRONLY | os.O_APPEND))
    return path


def marks(kmsg: Path) -> list[str]:
    return [line.removeprefix(f"<{DEBUG}>") for line in kmsg.read_text().splitlines()]


def log(*lines: tuple[int, str]) -> Reading[KernelLog]:
    return Reading(KernelLog(tuple(LogLine(ns, text, 0, n) for n, (ns, text) in enumerate(lines)), 0, "kmsg"))


def times(reading: Reading[KernelLog]) -> dict[str, int]:
    assert reading.value is not None
    return {line.text: line.time_ns for line in reading.value.lines}


def test_a_mark_ties_the_log_clock_to_ours(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    assert clock.mark()
    (text,) = marks(kmsg)
    assert text.startswith(MARK)
    seen = clock.calibrated(log((7, "earlier"), (clocks.log_ns(), text)))
    assert clock.behind_ns == BEHIND_NS
    assert clock.basis == "a mark in the kernel log"
    assert times(seen) == {"earlier": 7 + BEHIND_NS}, "the mark itself is left out"


def test_lines_are_shifted_by_the_slew_of_our_clock_too(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    clock.mark()
    clock.calibrated(log((clocks.log_ns(), marks(kmsg)[0])))
    clocks.slewed_ns = 250_000_000
    seen = clock.calibrated(log((clocks.log_ns(), "now")))
    assert times(seen) == {"now": clocks.monotonic_ns()}


def test_the_mark_of_another_recorder_tells_nothing_and_is_left_out(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    clock.mark()
    seen = clock.calibrated(log((5, f"{MARK} (4711, 99)"), (6, "line")))
    assert clock.behind_ns is None
    assert times(seen) == {"line": 6}


def test_marks_are_written_once_an_hour(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    for _ in range(5):
        clocks.raw_ns += SECOND_NS
        assert clock.mark()
    assert len(marks(kmsg)) == 1
    clocks.raw_ns += RENEW_NS
    clock.mark()
    assert len(set(marks(kmsg))) == 2, "each can be told from the one before"


def test_a_mark_that_was_interrupted_changes_nothing_that_is_known(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    clock.mark()
    clock.calibrated(log((clocks.log_ns(), marks(kmsg)[0])))
    clocks.raw_ns += 2 * RENEW_NS
    clocks.tick_ns = PREEMPTED_NS  # at each look: the bracket is that wide
    clock.mark()
    clock.calibrated(log((clocks.log_ns() - 50 * SECOND_NS, marks(kmsg)[1])))
    assert clock.behind_ns == BEHIND_NS


def test_the_first_mark_counts_even_when_interrupted(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    clocks.tick_ns = 10 * PREEMPTED_NS
    clock.mark()
    clock.calibrated(log((clocks.log_ns(), marks(kmsg)[0])))
    assert clock.behind_ns == pytest.approx(BEHIND_NS, abs=20 * PREEMPTED_NS)


def test_the_first_reading_is_history_and_tells_nothing(clocks: Clocks) -> None:
    clock = LogClock(Host())
    seen = clock.calibrated(log((5 * SECOND_NS, "logged long ago")))
    assert clock.behind_ns is None
    assert times(seen) == {"logged long ago": 5 * SECOND_NS}


@pytest.mark.parametrize("first", [log((5, "history")), log()], ids=["history", "an empty log"])
def test_without_a_mark_the_quickest_arrival_tells(clocks: Clocks, first: Reading[KernelLog]) -> None:
    clock = LogClock(Host())
    clock.calibrated(first)
    clock.calibrated(log((clocks.log_ns() - 400_000_000, "slow")))
    assert clock.behind_ns == BEHIND_NS + 400_000_000
    clock.calibrated(log((clocks.log_ns() - SECOND_NS, "older"), (clocks.log_ns() - 2_000_000, "quick")))
    assert clock.behind_ns == BEHIND_NS + 2_000_000
    assert clock.basis == "the quickest arrival of a line"
    clock.calibrated(log((clocks.log_ns() - 300_000_000, "slow again")))
    assert clock.behind_ns == BEHIND_NS + 2_000_000, "a line that came late says nothing"


def test_an_empty_line_is_not_taken_for_a_mark_that_could_not_be_written(clocks: Clocks) -> None:
    clock = LogClock(Host())
    seen = clock.calibrated(log((5 * SECOND_NS, "")))
    assert clock.behind_ns is None
    assert times(seen) == {"": 5 * SECOND_NS}


def test_an_arrival_does_not_spoil_a_mark(clocks: Clocks, kmsg: Path) -> None:
    clock = LogClock(Host())
    clock.mark()
    clock.calibrated(log((clocks.log_ns(), marks(kmsg)[0])))
    clock.calibrated(log((clocks.log_ns() + PREEMPTED_NS // 2, "nearly at once")))
    assert (clock.behind_ns, clock.basis) == (BEHIND_NS, "a mark in the kernel log")


def test_an_anchor_has_the_log_clock_once_it_is_known() -> None:
    clock = LogClock(Host())
    assert clock.anchor().log_ns is None
    clock.behind_ns = BEHIND_NS
    anchor = clock.anchor()
    assert anchor.log_ns == anchor.raw_ns - BEHIND_NS


def test_a_log_that_cannot_be_read_stays_absent() -> None:
    absent: Reading[KernelLog] = Reading(absence=Absence.NOT_PERMITTED, detail="/dev/kmsg")
    assert LogClock(Host()).calibrated(absent) is absent


@pytest.mark.parametrize("made", [True, False], ids=["a plain file", "nothing"])
def test_a_recorded_tree_is_never_written_to(tmp_path: Path, made: bool) -> None:
    path = tmp_path / "dev/kmsg"
    path.parent.mkdir()
    if made:
        path.write_text("6,1,5,-;a recorded line\n")
    assert not LogClock(Host(tmp_path)).mark()
    assert not made or path.read_text() == "6,1,5,-;a recorded line\n"
