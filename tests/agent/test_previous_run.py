"""What a new recorder finds of the one before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.agent.previous_run import Before, look_back
from necroscope.sources.host import Host
from necroscope.store.journal import JOURNAL
from tests.segments import BEGIN_NS
from tests.stored import (
    BOOT_ID,
    HOST,
    OFFSET_NS,
    SECOND_NS,
    anchor_at,
    open_segment,
    sealed_segment,
    seconds_of,
)

MOMENTS = seconds_of(["idle"] * 20)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """The host in the boot that the segments are of."""
    path = tmp_path / "root/proc/sys/kernel/random/boot_id"
    path.parent.mkdir(parents=True)
    path.write_text(f"{BOOT_ID}\n")
    return Host(tmp_path / "root")


def test_a_new_store_has_no_past(tmp_path: Path, host: Host) -> None:
    before = look_back(tmp_path / HOST, host)
    assert before == Before(BOOT_ID, [], None)
    assert before.gap(BEGIN_NS) == ()


def test_the_end_of_the_last_recording_is_known(tmp_path: Path, host: Host) -> None:
    sealed_segment(tmp_path, MOMENTS[:6])
    sealed_segment(tmp_path, MOMENTS[5:11])
    before = look_back(tmp_path / HOST, host)
    assert (before.open_segments, before.end_ns) == ([], MOMENTS[10].time_ns)
    (gap,) = before.gap(MOMENTS[10].time_ns + 60 * SECOND_NS)
    assert (gap.kind, gap.time_ns, gap.seconds) == ("capture-gap", MOMENTS[10].time_ns, 60.0)
    assert "no recorder ran" in gap.text


def test_a_quick_restart_leaves_no_hole(tmp_path: Path, host: Host) -> None:
    sealed_segment(tmp_path, MOMENTS[:6])
    assert look_back(tmp_path / HOST, host).gap(MOMENTS[5].time_ns + SECOND_NS) == ()


def test_a_killed_recorder_leaves_its_segment_open(tmp_path: Path, host: Host) -> None:
    sealed_segment(tmp_path, MOMENTS[:6])
    left = open_segment(tmp_path, MOMENTS[5:11])
    before = look_back(tmp_path / HOST, host)
    assert [segment.folder for segment in before.open_segments] == [left.folder]
    assert before.end_ns == MOMENTS[10].time_ns, "its last whole second"
    (gap,) = before.gap(MOMENTS[10].time_ns + 5 * SECOND_NS)
    assert "the recorder was killed" in gap.text


def test_what_another_boot_left_is_sealed_and_no_hole_of_this_one(tmp_path: Path, host: Host) -> None:
    left = open_segment(tmp_path, MOMENTS[:6], boot_id="another")
    before = look_back(tmp_path / HOST, host)
    assert [segment.folder for segment in before.open_segments] == [left.folder]
    assert before.end_ns is None
    assert before.gap(10**18) == ()


def test_a_wall_clock_set_back_does_not_hide_the_end(tmp_path: Path, host: Host) -> None:
    sealed_segment(tmp_path, MOMENTS[:11])
    back = anchor_at(MOMENTS[10].time_ns, OFFSET_NS - 3600 * SECOND_NS)
    sealed_segment(tmp_path, MOMENTS[10:], anchor=back)
    assert look_back(tmp_path / HOST, host).end_ns == MOMENTS[-1].time_ns


def test_half_made_things_are_cleared_away(tmp_path: Path, host: Host) -> None:
    folder = tmp_path / HOST
    (folder / "20260415T100000Z").mkdir(parents=True)
    killed = folder / "20260415T100002Z"
    killed.mkdir()
    for name in (JOURNAL, ".segment.json.partial", "perf.data", "perf.data.0"):
        (killed / name).touch()
    kept = [folder / "notes/a.txt", folder / ".capture/1/perf.data", folder / ".index.json"]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert look_back(folder, host).open_segments == []
    assert {path.name for path in folder.iterdir()} == {"notes", ".capture", ".index.json"}
    assert all(path.exists() for path in kept)


def test_a_journal_with_something_in_it_is_never_thrown_away(tmp_path: Path, host: Host) -> None:
    segment = open_segment(tmp_path, MOMENTS)
    (segment.folder / "segment.json").unlink()
    before = (segment.folder / JOURNAL).read_bytes()
    look_back(tmp_path / HOST, host)
    assert (segment.folder / JOURNAL).read_bytes() == before


def test_a_damaged_segment_does_not_stop_the_recorder(tmp_path: Path, host: Host) -> None:
    sealed_segment(tmp_path, MOMENTS[:6])
    damaged = open_segment(tmp_path, MOMENTS[5:])
    (damaged.folder / "segment.json").write_text("{")
    before = look_back(tmp_path / HOST, host)
    assert (before.open_segments, before.end_ns) == ([], MOMENTS[5].time_ns)
    assert damaged.folder.exists(), "a person must look"


def test_perf_data_that_was_kept_on_purpose_stays(tmp_path: Path, host: Host) -> None:
    segment = sealed_segment(tmp_path, MOMENTS)
    document = (segment.folder / "segment.json").read_text()
    for name in ("perf.data", "perf.data.0", JOURNAL):
        (segment.folder / name).touch()
    (segment.folder / "segment.json").write_text(
        document.replace('"files": [', '"files": [{"name": "perf.data", "bytes": 0, "sha256": ""},')
    )
    look_back(tmp_path / HOST, host)
    left = {path.name for path in segment.folder.iterdir() if path.is_file()}
    assert left == {"segment.json", "events.parquet", "perf.data"}
