"""What stands now: folded from what a recorder reads, and from what the one before it left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from necroscope.findings import active_findings
from necroscope.findings.active_findings import MAX_FINDINGS, MAX_PAUSE_NS, ActiveFindings
from necroscope.findings.catalog import DETECTORS
from necroscope.model.event import Event
from necroscope.model.finding import Severity
from necroscope.model.labels import Labels
from necroscope.model.node_state import NodeState
from necroscope.model.reading import Absence, Reading
from necroscope.signals.kernel_log_events import find_in_log
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.processes import PROCESSES
from necroscope.store.clock import Anchor
from necroscope.store.segment import Moment, Segment
from tests.segments import BEGIN_NS, core_seconds
from tests.stored import BOOT_ID, HOST, OFFSET_NS, anchor_at, open_segment, sealed_segment

SECOND_NS = 10**9
OfSecond = Callable[[int], Reading[Any]]
THRESHOLDS = load_thresholds(Path("/dev/null"))
STALL = "ena 0000:00:05.0 eth0: napi handler hasn't been called for a long time but is scheduled"


def moments(
    begin: int, end: int, busy: Sequence[int] = (), also: Mapping[str, OfSecond] | None = None
) -> list[Moment]:
    """A core that is in the kernel in some seconds; what else was read is as told by second."""
    plan = ["system" if second in busy else "idle" for second in range(begin, end)]
    found = []
    for second, cores in zip(range(begin, end + 1), core_seconds(plan, ["idle"] * len(plan)), strict=True):
        readings: dict[str, Reading[Any]] = {CORES.id: Reading(cores)}
        readings |= {name: of_second(second) for name, of_second in (also or {}).items()}
        found.append(Moment(BEGIN_NS + second * SECOND_NS, readings, dict.fromkeys(readings, 1)))
    return found


def zombies(count: int) -> Reading[MemoryCgroups]:
    tree = HierarchyCount("memory (v1)", 1, count + 80, 80, count, "/proc/cgroups")
    return Reading(MemoryCgroups(tree, (), None))


def log(second: int, *texts: str) -> Reading[KernelLog]:
    lines = (LogLine(BEGIN_NS + second * SECOND_NS, text, 0, n) for n, text in enumerate(texts))
    return Reading(KernelLog(tuple(lines), 0, "/dev/kmsg"))


def stalls(second: int) -> dict[str, OfSecond]:
    """A kernel log with a line about a NIC in one second."""
    return {KERNEL_LOG.id: lambda now: log(now, *[STALL] * (now == second))}


class Recorded:
    """A fold, and its state after each look by second."""

    def __init__(self) -> None:
        self.fold = ActiveFindings(THRESHOLDS)
        self.states: dict[int, NodeState] = {}

    def record(self, read: Sequence[Moment], events: Sequence[Event] = ()) -> NodeState:
        """Feed what was read, and the events in it."""
        for moment in read:
            found = find_in_log(Segment(Labels(), Anchor(0, 0), (moment,)))
            new = [*found.events, *(event for event in events if event.time_ns == moment.time_ns)]
            if self.fold.feed(moment, new, found.userspace_lines):
                second = (moment.time_ns - BEGIN_NS) // SECOND_NS
                self.states[second] = self.fold.examine(OFFSET_NS)
        return self.states[max(self.states)]

    def seconds_with(self, id: str) -> tuple[int, int]:
        """The first and the last second of which the state has a finding."""
        seconds = [second for second, state in self.states.items() if id in ids(state)]
        return min(seconds), max(seconds)


@pytest.fixture
def one() -> Recorded:
    return Recorded()


def ids(state: NodeState) -> list[str]:
    return [finding.id for finding in state.findings]


def test_what_was_found_and_what_could_not_be(one: Recorded) -> None:
    refused: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="/dev/kmsg: no")
    more = {MEMORY_CGROUPS.id: lambda _: zombies(5000), KERNEL_LOG.id: lambda _: refused}
    state = one.record(moments(0, 120, range(50, 55), more))
    assert 0 <= BEGIN_NS + OFFSET_NS + 120 * SECOND_NS - state.examined_utc_ns < 5 * SECOND_NS
    assert [(found.id, found.severity, found.subject) for found in state.findings] == [
        ("zombie-memory-cgroups", Severity.WARNING, ""),
        ("core-saturated", Severity.WARNING, "0"),
    ]
    assert state.findings[1].summary == "core 0 was 100% in the kernel for 5 s in a row (100% system)"
    assert state.checked == ("zombie-memory-cgroups", "core-saturated", "capture-gap")
    why = dict(state.not_checked)
    assert why["kernel-stall"] == "not permitted: /dev/kmsg: no"
    assert set(why) | set(state.checked) == {detector.id for detector in DETECTORS}


def test_what_happened_is_seen_within_seconds_and_stands_for_ten_minutes(one: Recorded) -> None:
    one.record(moments(0, 800, range(30, 34)))
    first, last = one.seconds_with("core-saturated")
    assert 33 <= first <= 38
    assert 633 <= last <= 665


def test_a_line_of_the_kernel_is_examined_at_once(one: Recorded) -> None:
    one.record(moments(0, 800, also=stalls(47)))
    first, last = one.seconds_with("nic-reset")
    assert (first, 647 <= last <= 680) == (47, True)


def test_the_newest_line_is_what_is_described(one: Recorded) -> None:
    other = STALL.replace("eth0", "eth1").replace("05.0", "06.0")
    lines = {KERNEL_LOG.id: lambda now: log(now, *{20: [STALL], 60: [other]}.get(now, []))}
    one.record(moments(0, 200, also=lines))
    for second, device in ((59, "eth0"), (60, "eth1"), (max(one.states), "eth1")):
        (finding,) = one.states[max(each for each in one.states if each <= second)].findings
        assert finding.summary.startswith(device)


def test_nothing_is_known_before_there_was_time_to_look(one: Recorded) -> None:
    one.record(moments(0, 10, also=stalls(0)))
    assert min(one.states) == 6
    assert one.seconds_with("nic-reset")[0] == 6


def test_what_lasts_goes_with_the_newest_reading(one: Recorded) -> None:
    state = one.record(moments(0, 120, also={MEMORY_CGROUPS.id: lambda _: zombies(30_000)}))
    assert [found.severity for found in state.findings] == [Severity.CRITICAL]
    state = one.record(moments(121, 126, also={MEMORY_CGROUPS.id: lambda _: zombies(3)}))
    assert not state.findings and "zombie-memory-cgroups" in state.checked


def test_a_core_that_is_full_again_and_again_is_one_finding(one: Recorded) -> None:
    busy = [second for second in range(300) if second % 40 < 20]
    state = one.record(moments(0, 300, busy))
    assert [(found.id, found.subject) for found in state.findings] == [("core-saturated", "0")]


def test_a_run_that_two_looks_share_is_seen(one: Recorded) -> None:
    for second in range(40, 60):
        recorded = Recorded()
        assert ids(recorded.record(moments(0, 80, range(second, second + 3)))) == ["core-saturated"], second


def test_looks_that_cost_much_are_rare(one: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter(range(10**6))
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(spent) * SECOND_NS)
    one.record(moments(0, 120, also=stalls(50)))
    seconds = sorted(one.states)
    pauses = {after - before for before, after in pairwise(seconds)}
    assert pauses == {MAX_PAUSE_NS // SECOND_NS}
    assert "nic-reset" in ids(one.states[seconds[-1]]), "and nothing is missed"


def test_what_is_kept_is_bounded(one: Recorded) -> None:
    more: dict[str, OfSecond] = {MEMORY_CGROUPS.id: lambda _: zombies(3), PROCESSES.id: lambda _: Reading(())}
    one.record(moments(0, 1000, also=more))
    window, lasting = one.fold._window, one.fold._lasting
    assert len(window) == 31 and len(lasting) <= 22
    assert set(window[0].readings) == {CORES.id}, "what is evidence only is not kept"
    assert lasting[-1].time_ns - lasting[0].time_ns > 560 * SECOND_NS


def test_other_thresholds_are_another_look(one: Recorded) -> None:
    assert not one.record(moments(0, 20, range(10, 12))).findings
    one.fold.set_thresholds({**THRESHOLDS, "core-saturated.seconds": 2.0})
    assert ids(one.record(moments(21, 30))) == ["core-saturated"]
    one.fold.set_thresholds(THRESHOLDS)
    assert not one.record(moments(31, 70)).findings


def test_lines_from_long_before_the_recorder_are_history(one: Recorded) -> None:
    old = {KERNEL_LOG.id: lambda second: log(-3600, STALL) if second == 2000 else log(second)}
    assert not one.record(moments(2000, 2120, also=old)).findings
    state = one.record(moments(2121, 2240, also=stalls(2130)))
    assert [(found.id, found.severity) for found in state.findings] == [("nic-reset", Severity.CRITICAL)]


def test_a_hole_that_the_recorder_noted(one: Recorded) -> None:
    gap = Event("capture-gap", BEGIN_NS + 10 * SECOND_NS, "perf", "perf was killed", seconds=4.0, sequence=1)
    (finding,) = one.record(moments(0, 120), [gap]).findings
    assert (finding.id, finding.summary) == ("capture-gap", "1 hole in the recording, 4.0 s in all")


def test_more_than_anybody_reads(one: Recorded) -> None:
    """There are hosts with hundreds of cores."""
    found = [
        Moment(BEGIN_NS + second * SECOND_NS, {CORES.id: Reading(cores)}, {})
        for second, cores in enumerate(core_seconds(*[["system"] * 8] * 300))
    ]
    assert len(one.record(found).findings) == MAX_FINDINGS


def test_a_detector_that_fails_does_not_silence_the_others(
    one: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> Iterator[Any]:
        raise ZeroDivisionError("of mine")
        yield

    all_momentary = active_findings.MOMENTARY
    broken = [replace(each, look=fail) if each.id == "capture-gap" else each for each in all_momentary]
    monkeypatch.setattr(active_findings, "MOMENTARY", tuple(broken))
    state = one.record(moments(0, 30, range(10, 15)))
    assert ids(state) == ["core-saturated"] and "capture-gap" not in state.checked
    assert dict(state.not_checked)["capture-gap"] == "the detector failed: ZeroDivisionError: of mine"


def rebuild(one: Recorded, store: Path, second: int, boot_id: str = BOOT_ID) -> list[str]:
    return one.fold.rebuild(store / HOST, boot_id, BEGIN_NS + second * SECOND_NS)


def test_a_restarted_recorder_knows_what_stood_and_clears_it_in_time(one: Recorded, tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, also=stalls(30)))
    sealed_segment(tmp_path, moments(120, 240, range(150, 160)))
    open_segment(tmp_path, moments(240, 260, range(250, 255)))  # the recorder was killed
    assert rebuild(one, tmp_path, 265) == []
    one.record(moments(265, 900))
    assert set(ids(one.states[265])) == {"nic-reset", "core-saturated"}, "at once"
    assert "core-saturated" in one.states[265].checked
    for id, second in (("nic-reset", 630), ("core-saturated", 855)):
        assert second <= one.seconds_with(id)[1] <= second + 35


def test_what_lasts_is_judged_across_a_restart(one: Recorded, tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, also={MEMORY_CGROUPS.id: lambda _: zombies(30_000)}))
    rebuild(one, tmp_path, 121)
    one.record(moments(121, 130))
    assert ids(one.states[121]) == ["zombie-memory-cgroups"], "it was not read again yet"


def test_another_boot_and_what_is_older_than_ten_minutes_are_not_now(one: Recorded, tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 20)))
    assert rebuild(one, tmp_path, 121, boot_id="5c1f5f0e-0000-4000-8000-000000000002") == []
    assert rebuild(one, tmp_path, 1000) == []
    assert not one.record(moments(1000, 1010)).findings


def test_the_wall_clock_was_set_in_between(one: Recorded, tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 15)))
    anchor = anchor_at(BEGIN_NS + 120 * SECOND_NS, OFFSET_NS - 3600 * SECOND_NS)
    sealed_segment(tmp_path, moments(120, 240), anchor=anchor)
    rebuild(one, tmp_path, 240)
    assert ids(one.record(moments(241, 250))) == ["core-saturated"]


def test_a_damaged_segment_is_reported_and_the_others_are_read(one: Recorded, tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 15)))
    damaged = sealed_segment(tmp_path, moments(120, 240)).folder
    (damaged / "counters/readings.parquet").write_bytes(b"PAR1")
    without = sealed_segment(tmp_path, moments(240, 360)).folder
    for path in (without / "counters").iterdir():
        path.unlink()
    (without / "counters").rmdir()
    (problem,) = rebuild(one, tmp_path, 361)
    assert str(damaged) in problem
    assert ids(one.record(moments(361, 370))) == ["core-saturated"]


def test_a_store_that_has_nothing(one: Recorded, tmp_path: Path) -> None:
    (tmp_path / HOST).mkdir()
    assert rebuild(one, tmp_path, 5) == []
