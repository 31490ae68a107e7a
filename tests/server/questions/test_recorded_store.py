from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from necroscope.errors import NothingRecordedError, StoreError
from necroscope.server.questions import recorded_store
from necroscope.server.questions.recorded_store import LARGEST_DESCRIPTION_BYTES, RecordedStore, require_files
from necroscope.server.questions.selection import Range
from necroscope.store.journal import JOURNAL, moment_frame
from necroscope.store.store import DESCRIPTION, StoredSegment, read_segment
from tests.stored import HOST, SECOND_NS, UTC_NS, anchor_at, open_segment, sealed_segment, seconds_of

US = UTC_NS // 1000
MOMENTS = seconds_of(["idle"] * 9)


@dataclass
class Clock:
    """Time that passes when told."""

    now: float = 0.0
    read: list[Path] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the store, which also notes what is read."""
    found = Clock()

    def reading(folder: Path, *more: object) -> StoredSegment:
        found.read.append(folder)
        return read_segment(folder, *more)  # type: ignore[arg-type] # as it was called

    monkeypatch.setattr("necroscope.server.questions.recorded_store.time.monotonic", found.monotonic)
    monkeypatch.setattr(recorded_store, "read_segment", reading)
    return found


def test_hosts_with_the_newest_second_first(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:3], host="a")
    sealed_segment(tmp_path, MOMENTS[:5], host="b")
    store = RecordedStore(tmp_path)
    assert list(store.hosts()) == ["b", "a"]
    assert [segment.host for segment in store.segments_of("a")] == ["a"]


@pytest.mark.parametrize("name", ["", "..", "../node-17", "/", "node-17/", "NODE-17", "\x00", "node-17\n"])
def test_a_name_is_a_name_and_no_path(tmp_path: Path, name: str) -> None:
    sealed_segment(tmp_path, MOMENTS[:3])
    with pytest.raises(NothingRecordedError):
        RecordedStore(tmp_path).segments_of(name)


def test_it_is_listed_once_a_second(tmp_path: Path, clock: Clock) -> None:
    sealed_segment(tmp_path, MOMENTS[:3], host="a")
    store = RecordedStore(tmp_path)
    assert list(store.hosts()) == ["a"]
    sealed_segment(tmp_path, MOMENTS[:5], host="b")
    clock.now = 0.9
    assert list(store.hosts()) == ["a"]
    clock.now = 1.1
    assert list(store.hosts()) == ["b", "a"]


def test_a_sealed_segment_is_described_once(tmp_path: Path, clock: Clock) -> None:
    folder = sealed_segment(tmp_path, MOMENTS[:3]).folder
    store = RecordedStore(tmp_path)
    for clock.now in (0.0, 2.0, 4.0):
        assert store.segments_of(HOST)[0].folder == folder
    assert clock.read == [folder]
    os.utime(folder / DESCRIPTION, (5, 5))
    clock.now = 6.0
    store.hosts()
    assert clock.read == [folder, folder]


def test_an_open_segment_grows_and_one_that_was_left_is_not_read_again(tmp_path: Path, clock: Clock) -> None:
    folder = open_segment(tmp_path, MOMENTS[:3]).folder
    store = RecordedStore(tmp_path)
    assert store.segments_of(HOST)[0].end_ns == UTC_NS + 2 * SECOND_NS
    with (folder / JOURNAL).open("ab") as file:
        file.write(moment_frame(MOMENTS[3]))
    for clock.now in (2.0, 4.0):
        assert store.segments_of(HOST)[0].end_ns == UTC_NS + 3 * SECOND_NS
    assert len(clock.read) == 2


def test_what_was_removed_is_forgotten(tmp_path: Path, clock: Clock) -> None:
    folder = sealed_segment(tmp_path, MOMENTS[:3]).folder
    store = RecordedStore(tmp_path)
    store.hosts()
    folder.rename(tmp_path / ".removed")
    clock.now = 2.0
    assert not store.hosts() and not store._remembered


def test_a_range_without_a_recording_says_what_there_is(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:3])
    store = RecordedStore(tmp_path)
    assert len(store.recorded_in(Range(HOST, US, US + 1))) == 1
    with pytest.raises(NothingRecordedError) as caught:
        store.recorded_in(Range(HOST, US + 60_000_000, US + 61_000_000))
    assert "2026-04-15T10:00:02.000Z" in caught.value.hint


def test_damage_is_told_of_its_host_and_time_without_where_the_store_is(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:3])
    later = anchor_at(MOMENTS[0].time_ns, UTC_NS - MOMENTS[0].time_ns + 3600 * SECOND_NS)
    bad = sealed_segment(tmp_path, MOMENTS[:3], anchor=later).folder
    (bad / DESCRIPTION).write_text("[" * 100_000)
    store = RecordedStore(tmp_path)
    assert store.damaged_in(Range(HOST, US, US + 1)) == []
    (told,) = store.damaged_in(Range(HOST, US, US + 3601 * 10**6))
    assert told.what.startswith("node-17/20260415T110000Z/segment.json") and str(tmp_path) not in told.what
    assert store.damaged_in(Range("other", US, US + 3601 * 10**6)) == []


def test_a_pipe_that_takes_the_place_of_a_file_is_seen_with_the_next_listing(
    tmp_path: Path, clock: Clock
) -> None:
    folder = sealed_segment(tmp_path, MOMENTS[:3]).folder
    store = RecordedStore(tmp_path)
    assert len(store.segments_of(HOST)) == 1 and not store.damaged
    (folder / "counters/cores.parquet").unlink()
    os.mkfifo(folder / "counters/cores.parquet")
    clock.now = 2.0
    assert not store.hosts() and "not a file" in store.damaged[0].error.what


def test_damage_of_a_host_whose_folder_has_another_name(tmp_path: Path) -> None:
    sealed_segment(tmp_path, MOMENTS[:3])
    bad = sealed_segment(tmp_path, MOMENTS[:3]).folder
    (bad / DESCRIPTION).write_text("[")
    (tmp_path / HOST).rename(tmp_path / "moved")
    (told,) = RecordedStore(tmp_path).damaged_in(Range(HOST, US, US + 3 * 10**6))
    assert told.what.startswith(f"moved/{bad.name}/")


def test_an_empty_store(tmp_path: Path) -> None:
    store = RecordedStore(tmp_path / "not-there")
    assert not store.hosts() and not store.damaged


def test_what_came_from_elsewhere_is_seen_at_once(tmp_path: Path) -> None:
    here, fetched = tmp_path / "here", tmp_path / "fetched"
    sealed_segment(here, MOMENTS[:3])
    store = RecordedStore(here)
    assert list(store.hosts()) == [HOST]
    sealed_segment(fetched, MOMENTS[:5], host="another")
    (fetched / "another").rename(fetched / "its-name-in-the-fleet")
    sealed_segment(fetched, MOMENTS[:3])  # of this host, which has it itself
    store.also_in(fetched)
    assert sorted(store.hosts()) == ["its-name-in-the-fleet", HOST]
    (segment,) = store.segments_of(HOST)
    assert segment.folder.is_relative_to(here)
    assert [one.host for one in store.segments_of("its-name-in-the-fleet")] == ["its-name-in-the-fleet"]


def test_damage_of_what_came_from_elsewhere_names_no_path(tmp_path: Path) -> None:
    here, fetched = tmp_path / "here", tmp_path / "fetched"
    bad = sealed_segment(fetched, MOMENTS).folder
    (bad / DESCRIPTION).write_text("{}")
    store = RecordedStore(here)
    store.also_in(fetched)
    (told,) = store.damaged_in(Range(HOST, US, US + 3 * 10**6))
    assert str(tmp_path) not in f"{told.what} {told.hint}"


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    for name in (DESCRIPTION, "counters/cores.parquet", "profile/samples.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    return tmp_path


def test_files_and_folders_and_links_to_them(segment: Path) -> None:
    (segment / "perf.data").symlink_to(segment / "counters/cores.parquet")
    require_files(segment)


@pytest.mark.parametrize(
    "name", [DESCRIPTION, "counters/cores.parquet", "profile/samples.parquet", "perf.data"]
)
def test_a_pipe(segment: Path, name: str) -> None:
    (segment / name).unlink(missing_ok=True)
    os.mkfifo(segment / name)
    with pytest.raises(StoreError, match=f"{name}: not a file"):
        require_files(segment)


def test_a_link_to_a_device_without_end(segment: Path) -> None:
    (segment / DESCRIPTION).unlink()
    (segment / DESCRIPTION).symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="not a file"):
        require_files(segment)


def test_a_description_that_would_fill_the_memory(segment: Path) -> None:
    os.truncate(segment / DESCRIPTION, LARGEST_DESCRIPTION_BYTES + 1)
    with pytest.raises(StoreError, match="too large"):
        require_files(segment)


def test_what_cannot_be_looked_at_is_left_to_those_who_read_it(segment: Path) -> None:
    (segment / "gone").symlink_to("nowhere")
    (segment / "loop").symlink_to("loop")
    require_files(segment)
    require_files(segment / "not-there")
