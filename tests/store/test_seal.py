"""An open segment becomes columnar files, at the first attempt or at a later one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from necroscope.agent.previous_run import look_back
from necroscope.errors import ImportFileError, StoreError
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.units import UNITS
from necroscope.store import seal
from necroscope.store.clock import Anchor
from necroscope.store.durable import write_durably
from necroscope.store.journal import JOURNAL, LOCK, clip_frame
from necroscope.store.process_lock import LOCK_MODE, locked
from necroscope.store.read_range import read_moments
from necroscope.store.seal import seal_recorded
from necroscope.store.store import Store, read_document, read_segment
from necroscope.store.stored_events import read_events
from tests.segments import BEGIN_NS
from tests.stored import (
    HOST,
    OFFSET_NS,
    SECOND_NS,
    UTC_NS,
    event_of,
    moment_of,
    no_profile,
    open_segment,
    sealed_segment,
    seconds_of,
)

MOMENTS = seconds_of(["idle"] * 5, ["system"] * 5)


class Samples:
    """Seals a profile of three samples, and remembers what it was asked for."""

    def __init__(self, **facts: Any) -> None:
        self.facts = {"samples": 3, "begin_ns": BEGIN_NS + 1, "end_ns": BEGIN_NS + 2, **facts}
        self.clip: tuple[int | None, int | None] | None = None

    def __call__(
        self, capture: Path, folder: Path, _: str, begin_ns: int | None, end_ns: int | None
    ) -> Mapping[str, Any]:
        assert capture.exists()
        (folder / "samples.parquet").write_bytes(b"samples")
        self.clip = begin_ns, end_ns
        return self.facts


def unreadable(capture: Path, *_: object) -> Mapping[str, Any]:
    raise ImportFileError(f"{capture.name}: it is not a perf.data file")


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_counters_and_events_are_columnar_and_the_journal_is_gone(tmp_path: Path) -> None:
    events = [event_of("nic-reset", 2, sequence=7), event_of("core-saturated", 1)]
    segment = sealed_segment(tmp_path, MOMENTS, events)
    assert names(segment.folder) == {
        "segment.json",
        "events.parquet",
        "counters/cores.parquet",
        "counters/readings.parquet",
    }
    assert read_moments(segment) == MOMENTS
    assert [stored.event for stored in read_events(segment)] == events[::-1]
    query = f"SELECT kind FROM '{segment.folder}/events.parquet' WHERE sequence = 7"
    assert duckdb.connect().execute(query).fetchall() == [("nic-reset",)]


def test_the_description_tells_what_is_in_it(tmp_path: Path) -> None:
    absent: Reading[Any] = Reading(absence=Absence.NOT_PERMITTED, detail="no bus")
    moments = [*MOMENTS, moment_of(6, {UNITS: absent})]
    segment = sealed_segment(tmp_path, moments, [event_of("oom-kill", 1), event_of("oom-kill", 2)])
    document = read_document(segment.folder)
    assert (document["state"], document["ended"], document["kept"]) == ("sealed", "full", 2)
    assert (segment.begin_ns, segment.end_ns) == (UTC_NS, UTC_NS + 6 * SECOND_NS)
    assert document["events"] == {"oom-kill": 2}
    assert document["sources"]["cores"] == {"readings": 6, "absent": 0, "reason": "", "cost_ns": 6000}
    assert document["sources"]["units"]["absent"] == 1
    assert document["sources"]["units"]["reason"] == "not permitted: no bus"
    (anchor,) = document["anchors"]
    assert Anchor(**anchor).offset_ns == OFFSET_NS
    for file in document["files"]:
        data = (segment.folder / file["name"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert {file["name"] for file in document["files"]} == names(segment.folder) - {"segment.json"}


def test_an_event_that_is_told_twice_is_counted_once(tmp_path: Path) -> None:
    told = [event_of("core-saturated", 1, seconds=seconds) for seconds in (3.0, 4.0)]
    assert sealed_segment(tmp_path, MOMENTS, told).description.events == {"core-saturated": 1}


def test_a_killed_recorder_is_told_from_a_stopped_one(tmp_path: Path) -> None:
    segment = sealed_segment(tmp_path, MOMENTS, ended="")
    assert segment.description.ended == "killed"
    assert not segment.description.kept, "without an event nobody comes back for it"


def test_a_cut_journal_is_sealed_as_far_as_it_is_whole(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    journal = segment.folder / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-3])
    seal_recorded(segment, no_profile)
    assert read_moments(read_segment(segment.folder)) == MOMENTS[:-1]


@pytest.mark.parametrize("step", ["write_counters", "write_events", "sync_tree", "write_durably"])
def test_an_attempt_that_was_cut_short_is_made_good_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    segment = open_segment(tmp_path, MOMENTS, [event_of("oom-kill", 1)])
    segment.capture.write_bytes(b"perf")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(seal, step, killed)
        with pytest.raises(KeyboardInterrupt):
            seal_recorded(segment, Samples())
    assert read_segment(segment.folder).is_open
    assert (segment.folder / "counters").exists()
    (segment.folder / "counters/leftover.parquet").write_bytes(b"of another version")

    seal_recorded(read_segment(segment.folder), Samples())
    sealed = read_segment(segment.folder)
    assert read_moments(sealed) == MOMENTS
    assert len(read_events(sealed)) == 1
    assert "counters/leftover.parquet" not in names(segment.folder)
    assert names(segment.folder) >= {"profile/samples.parquet"}


def test_killed_between_the_description_and_the_removal_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    segment.capture.write_bytes(b"perf")

    def described_and_killed(path: Path, data: bytes) -> None:
        write_durably(path, data)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(seal, "write_durably", described_and_killed)
        with pytest.raises(KeyboardInterrupt):
            seal_recorded(segment, Samples())
    sealed = read_segment(segment.folder)
    assert not sealed.is_open and (segment.folder / JOURNAL).exists()
    assert read_moments(sealed) == MOMENTS, "it can be read as it is"

    assert look_back(tmp_path / HOST, Host()).open_segments == []
    assert names(segment.folder) & {JOURNAL, "perf.data"} == set()
    assert read_moments(read_segment(segment.folder)) == MOMENTS


@pytest.mark.parametrize("left", [b"", b"NFRM half a frame"])
def test_one_without_a_whole_moment_is_removed(tmp_path: Path, left: bytes) -> None:
    segment = open_segment(tmp_path, ())
    (segment.folder / JOURNAL).write_bytes(left)
    assert seal_recorded(segment, Samples()) == "removed"
    assert not segment.folder.exists()
    assert Store(tmp_path).segments() == []


def test_samples_beside_a_damaged_journal_are_not_thrown_away(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, ())
    (segment.folder / JOURNAL).write_bytes(b"garbage")
    segment.capture.write_bytes(b"perf")
    assert seal_recorded(segment, Samples(begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 5)) == "sealed"
    sealed = read_segment(segment.folder)
    assert (sealed.end_ns - sealed.begin_ns, sealed.description.profile.samples > 0) == (5, True)


def test_samples_are_sealed_and_perf_s_files_go(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS, ended="full")
    for name in ("perf.data", "perf.data.0"):
        (segment.folder / name).write_bytes(b"perf")
    seal_recorded(segment, Samples(begin_ns=BEGIN_NS - 5, end_ns=BEGIN_NS + 9 * SECOND_NS))
    sealed = read_segment(segment.folder)
    assert sealed.description.profile.samples == 3
    assert (sealed.begin_ns, sealed.end_ns) == (UTC_NS - 5, UTC_NS + 9 * SECOND_NS), "all of it"
    assert not list(segment.folder.glob("perf.data*"))


def test_perf_data_is_kept_on_request(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    segment.capture.write_bytes(b"perf")
    seal_recorded(segment, Samples(), keep_capture=True)
    assert segment.capture.read_bytes() == b"perf"
    assert "perf.data" in {file.name for file in read_segment(segment.folder).description.files}


def test_perf_data_that_cannot_be_read_is_kept_and_said(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    segment.capture.write_bytes(b"no perf data")
    seal_recorded(segment, unreadable)
    sealed = read_segment(segment.folder)
    assert "not a perf.data file" in sealed.description.no_profile
    assert not sealed.has_profile and not sealed.profile.exists()
    assert segment.capture.read_bytes() == b"no perf data"
    assert "perf.data" in {file.name for file in sealed.description.files}
    assert read_moments(sealed) == MOMENTS, "the counters are not lost with it"


def test_a_capture_without_samples_leaves_no_empty_profile(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    segment.capture.write_bytes(b"perf")
    seal_recorded(segment, Samples(samples=0, begin_ns=None, end_ns=None))
    sealed = read_segment(segment.folder)
    assert not sealed.has_profile and not sealed.profile.exists() and not segment.capture.exists()


def test_samples_are_cut_to_what_belongs_to_the_segment(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    segment.capture.write_bytes(b"perf")
    with (segment.folder / JOURNAL).open("ab") as journal:
        journal.write(clip_frame("begin", 11) + clip_frame("end", 22))
    samples = Samples()
    seal_recorded(segment, samples)
    assert samples.clip == (11, 22)


def test_lost_samples_are_a_hole_that_is_told(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    segment.capture.write_bytes(b"perf")
    seal_recorded(segment, Samples(lost_samples=1234, lost_records=None))
    (gap,) = read_events(read_segment(segment.folder))
    assert gap.event.kind == "capture-gap" and "1,234" in gap.event.text


def test_the_log_clock_is_checked_against_what_perf_saw_of_the_same_lines(tmp_path: Path) -> None:
    log = KernelLog((LogLine(BEGIN_NS + 300, "seen by both", 0, 1),), 0, "/dev/kmsg")
    segment = open_segment(tmp_path, [*MOMENTS, moment_of(6, {KERNEL_LOG: log})])
    segment.capture.write_bytes(b"perf")
    seal_recorded(segment, Samples(lines=[(BEGIN_NS + 100, 0, "seen by both\n"), (5, 0, "by perf")]))
    profile = read_document(segment.folder)["profile"]
    assert profile["log_clock_error_ns"] == 200
    assert "lines" not in profile


def test_a_journal_that_is_being_written_is_refused(tmp_path: Path) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    before = names(segment.folder)
    with locked(segment.folder / LOCK, LOCK_MODE):
        with pytest.raises(StoreError, match="still being written"):
            seal_recorded(segment, no_profile)
        assert names(segment.folder) == {*before, LOCK}
    seal_recorded(segment, no_profile)
    assert not read_segment(segment.folder).is_open


def test_a_full_disk_leaves_it_open_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = open_segment(tmp_path, MOMENTS)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(seal, "write_counters", full)
        with pytest.raises(StoreError, match="cannot be sealed: No space left"):
            seal_recorded(segment, no_profile)
    assert json.loads((segment.folder / "segment.json").read_text())["state"] == "open"
    assert read_moments(read_segment(segment.folder)) == MOMENTS
