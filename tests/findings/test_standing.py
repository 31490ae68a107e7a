"""What stands now: of the last ten minutes of this boot, each segment looked through once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from necroscope.findings import standing
from necroscope.findings.catalog import DETECTORS
from necroscope.findings.standing import MOST_FINDINGS, examine_last_minutes
from necroscope.findings.standing_memory import MEMORY
from necroscope.model.event import Event
from necroscope.model.finding import Severity
from necroscope.model.node_state import NodeState
from necroscope.model.reading import Absence, Reading
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.store.read_range import read_stretch
from necroscope.store.segment import Moment, Segment
from necroscope.store.store import StoredSegment
from tests.segments import BEGIN_NS, core_seconds
from tests.stored import BOOT_ID, HOST, OFFSET_NS, anchor_at, open_segment, sealed_segment

SECOND_NS = 10**9
OfSecond = Callable[[int], Reading[Any]]
MINUTE = 60
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


def examine(root: Path, boot_id: str = BOOT_ID) -> NodeState:
    state = examine_last_minutes(root / HOST, boot_id, THRESHOLDS)
    assert state
    return state


def ids(state: NodeState) -> list[str]:
    return [finding.id for finding in state.findings]


def test_what_was_found_and_what_could_not_be(tmp_path: Path) -> None:
    refused: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="/dev/kmsg: no")
    more = {MEMORY_CGROUPS.id: lambda _: zombies(5000), KERNEL_LOG.id: lambda _: refused}
    sealed_segment(tmp_path, moments(0, 120, range(50, 55), more))
    state = examine(tmp_path)
    assert state.examined_utc_ns == BEGIN_NS + OFFSET_NS + 120 * SECOND_NS
    assert [(one.id, one.severity, one.subject) for one in state.findings] == [
        ("zombie-memory-cgroups", Severity.WARNING, ""),
        ("core-saturated", Severity.WARNING, "0"),
    ]
    assert state.findings[1].summary == "core 0 was 100% in the kernel for 5 s in a row (100% system)"
    assert state.checked == ("zombie-memory-cgroups", "core-saturated", "capture-gap")
    why = dict(state.not_checked)
    assert why["kernel-stall"] == "not permitted: /dev/kmsg: no"
    assert set(why) | set(state.checked) == {detector.id for detector in DETECTORS}


def test_what_happened_stands_for_ten_minutes(tmp_path: Path) -> None:
    for minutes in range(0, 16, 2):
        begin = minutes * MINUTE
        sealed_segment(tmp_path, moments(begin, begin + 120, range(30, 34)))
        assert ids(examine(tmp_path)) == (["core-saturated"] if minutes < 10 else []), minutes


def test_what_lasts_goes_with_the_newest_reading(tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, also={MEMORY_CGROUPS.id: lambda _: zombies(30_000)}))
    assert [one.severity for one in examine(tmp_path).findings] == [Severity.CRITICAL]
    sealed_segment(tmp_path, moments(120, 240, also={MEMORY_CGROUPS.id: lambda _: zombies(3)}))
    state = examine(tmp_path)
    assert not state.findings and "zombie-memory-cgroups" in state.checked


def test_a_core_that_is_full_in_many_segments_is_one_finding(tmp_path: Path) -> None:
    for begin in (0, 120, 240):
        sealed_segment(
            tmp_path, moments(begin, begin + 120, [*range(begin, begin + 20), *range(begin + 30, begin + 60)])
        )
    state = examine(tmp_path)
    assert [(one.id, one.subject) for one in state.findings] == [("core-saturated", "0")]


def test_each_segment_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    look = standing._look_at_moments

    def count(stored: StoredSegment, *more: Any) -> Any:
        looked.append(stored.folder.name)
        return look(stored, *more)

    monkeypatch.setattr(standing, "_look_at_moments", count)
    names = []
    for begin in range(0, 1200, 120):
        names.append(sealed_segment(tmp_path, moments(begin, begin + 120, range(5, 10))).folder.name)
        examine(tmp_path)
    assert looked == names
    document = json.loads((tmp_path / HOST / MEMORY).read_text())
    assert len(document["segments"]) == 5, "those of the last ten minutes"
    (tmp_path / HOST / MEMORY).write_text('{"key": 5')  # damaged: all of it is looked through again
    sealed_segment(tmp_path, moments(1200, 1320))
    examine(tmp_path)
    assert len(looked) == 10 + 5


def test_not_too_often(tmp_path: Path) -> None:
    states = []
    for begin in range(0, 120, 10):
        sealed_segment(tmp_path, moments(begin, begin + 10))
        states.append(examine_last_minutes(tmp_path / HOST, BOOT_ID, THRESHOLDS) is not None)
    assert states == [True, False, False] * 4


@pytest.mark.parametrize(
    "until", ["1e400", "9999999999999999999", "[" * 100_000], ids=["infinite", "to come", "nested"]
)
def test_a_memory_that_is_damaged_is_not_waited_for(tmp_path: Path, until: str) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 15)))
    examine(tmp_path)
    path = tmp_path / HOST / MEMORY
    document = json.loads(path.read_text())
    path.write_text(path.read_text().replace(str(document["until_ns"]), until))
    sealed_segment(tmp_path, moments(120, 240))
    assert ids(examine(tmp_path)) == ["core-saturated"]
    assert json.loads(path.read_text())["until_ns"] == document["until_ns"] + 120 * SECOND_NS


def test_other_thresholds_are_another_look(tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 12)))
    assert not examine(tmp_path).findings
    changed = {**THRESHOLDS, "core-saturated.seconds": 2.0}
    state = examine_last_minutes(tmp_path / HOST, BOOT_ID, changed)
    assert state and ids(state) == ["core-saturated"]


def test_another_boot_is_not_now(tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 20)))
    other = "5c1f5f0e-0000-4000-8000-000000000002"
    assert examine_last_minutes(tmp_path / HOST, other, THRESHOLDS) is None
    late = [replace(moment, time_ns=moment.time_ns - BEGIN_NS + SECOND_NS) for moment in moments(0, 60)]
    anchor = anchor_at(SECOND_NS, OFFSET_NS + BEGIN_NS + 180 * SECOND_NS)
    sealed_segment(tmp_path, late, boot_id=other, anchor=anchor)
    assert not examine(tmp_path, other).findings


def test_an_empty_store_and_one_with_open_segments_only(tmp_path: Path) -> None:
    (tmp_path / HOST).mkdir()
    assert examine_last_minutes(tmp_path / HOST, BOOT_ID, THRESHOLDS) is None
    open_segment(tmp_path, moments(0, 60))
    assert examine_last_minutes(tmp_path / HOST, BOOT_ID, THRESHOLDS) is None


def test_one_that_could_not_be_sealed_yet_is_looked_at_too(tmp_path: Path) -> None:
    """As it is: nobody remembers it, for it may still change."""
    left = open_segment(tmp_path, moments(0, 120, range(10, 15)))
    sealed_segment(tmp_path, moments(120, 240))
    open_segment(tmp_path, moments(240, 300, range(250, 260)))  # being recorded: not now, but next
    assert ids(examine(tmp_path)) == ["core-saturated"]
    assert left.folder.name not in json.loads((tmp_path / HOST / MEMORY).read_text())["segments"]


def test_the_wall_clock_was_set_in_between(tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 15)))
    anchor = anchor_at(BEGIN_NS + 120 * SECOND_NS, OFFSET_NS - 3600 * SECOND_NS)
    sealed_segment(tmp_path, moments(120, 240), anchor=anchor)
    state = examine(tmp_path)
    assert ids(state) == ["core-saturated"]
    assert state.examined_utc_ns == BEGIN_NS + OFFSET_NS + (240 - 3600) * SECOND_NS


def test_lines_from_before_the_recorder_are_history(tmp_path: Path) -> None:
    def lines(second: int) -> Reading[KernelLog]:
        return log(-3600, STALL) if second == 2000 else log(second)

    sealed_segment(tmp_path, moments(2000, 2120, also={KERNEL_LOG.id: lines}))
    assert not examine(tmp_path).findings
    sealed_segment(
        tmp_path, moments(2120, 2240, also={KERNEL_LOG.id: lambda s: log(s, *[STALL] * (s == 2130))})
    )
    assert [(one.id, one.severity) for one in examine(tmp_path).findings] == [
        ("nic-reset", Severity.CRITICAL)
    ]


def test_a_hole_that_the_recorder_noted(tmp_path: Path) -> None:
    gap = Event("capture-gap", BEGIN_NS + 10 * SECOND_NS, "perf", "perf was killed", seconds=4.0, sequence=1)
    sealed_segment(tmp_path, moments(0, 120), [gap])
    (finding,) = examine(tmp_path).findings
    assert (finding.id, finding.summary) == ("capture-gap", "1 hole in the recording, 4.0 s in all")


def test_a_segment_without_counters(tmp_path: Path) -> None:
    sealed_segment(tmp_path, moments(0, 120, range(10, 15)))
    folder = sealed_segment(tmp_path, moments(120, 240)).folder
    for path in (folder / "counters").iterdir():
        path.unlink()
    (folder / "counters").rmdir()
    assert ids(examine(tmp_path)) == ["core-saturated"]


def test_more_than_anybody_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer goes through a pipe, and there are hosts with hundreds of cores."""
    plan = [["system"] * 5] * 300
    found = [
        Moment(BEGIN_NS + n * SECOND_NS, {CORES.id: Reading(cores)}, {CORES.id: 1})
        for n, cores in enumerate(core_seconds(*plan))
    ]
    sealed_segment(tmp_path, found)
    assert len(examine(tmp_path).findings) == MOST_FINDINGS


def test_a_detector_that_fails_does_not_silence_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> Iterator[Any]:
        raise ZeroDivisionError("of mine")
        yield

    broken = [replace(one, look=fail) if one.id == "capture-gap" else one for one in standing.MOMENTARY]
    monkeypatch.setattr(standing, "MOMENTARY", tuple(broken))
    sealed_segment(tmp_path, moments(0, 120, range(10, 15)))
    state = examine(tmp_path)
    assert ids(state) == ["core-saturated"] and "capture-gap" not in state.checked
    assert dict(state.not_checked)["capture-gap"] == "the detector failed: ZeroDivisionError: of mine"


def test_only_what_decides_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def note(segments: Any, wanted: Any, sources: Any) -> list[Segment]:
        read.extend(source.id for source in sources)
        return read_stretch(segments, wanted, sources)

    monkeypatch.setattr("necroscope.findings.standing.read_stretch", note)
    sealed_segment(tmp_path, moments(0, 120))
    examine(tmp_path)
    assert "cores" in read and not {"processes", "run-queues", "pressure", "softnet", "instance"} & set(read)
