"""Whole runs, with a folder as the place: what arrives, once, and what waits when it cannot."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.errors import NothingRecordedError, PlaceError, StoreHeldError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.place.place import Stored
from necroscope.fleet.ship import stage
from necroscope.fleet.ship.requests import Range, make_request
from necroscope.fleet.ship.run import LOCK
from necroscope.sources.host import Host
from necroscope.store.process_lock import locked
from necroscope.store.store import read_segment
from tests.fleet.ship.stores import NOW_NS, add_segment, add_segments, check_objects, objects_in, ship_once
from tests.stored import BOOT_ID, HOST

BOOT = BOOT_ID[:8]


@pytest.fixture
def place(tmp_path: Path) -> FolderPlace:
    (tmp_path / "place").mkdir()
    return FolderPlace(tmp_path / "place")


class AwayPlace(FolderPlace):
    """A place that is away, or goes away after some writes."""

    def __init__(self, root: Path, writes: int = 0) -> None:
        super().__init__(root)
        self.writes = writes

    def write(self, name: str, content: bytes) -> None:
        self._count()
        super().write(name, content)

    def write_file(self, name: str, path: Path) -> None:
        self._count()
        super().write_file(name, path)

    def below(self, prefix: str) -> Iterator[Stored]:
        if self.writes <= 0:
            raise PlaceError("it is away")
        return super().below(prefix)

    def _count(self) -> None:
        self.writes -= 1
        if self.writes < 0:
            raise PlaceError("it is away")


def test_all_arrives_once(tmp_path: Path, place: FolderPlace) -> None:
    segments = add_segments(tmp_path, 5, {2: "nic-reset"})
    shipped = ship_once(tmp_path, place)
    parts = check_objects(objects_in(place.root))
    names = [segment.folder.name for segment in segments]
    assert set(parts) == {f"segment-{name}-{BOOT}" for name in names} | {
        f"files-{name}-{BOOT}" for name in names[1:4]
    }
    assert (shipped.staged, shipped.sent, shipped.waiting, shipped.error) == (8, 8, 0, None)
    assert shipped.success_us
    again = ship_once(tmp_path, place)
    assert (again.staged, again.sent, again.bytes) == (0, 0, 0)


def test_what_a_part_says(tmp_path: Path, place: FolderPlace) -> None:
    segment = add_segment(tmp_path, 0, "oom-kill")
    ship_once(tmp_path, place)
    parts = check_objects(objects_in(place.root))
    part = parts[f"segment-{segment.folder.name}-{BOOT}"]
    assert (part["schema"], part["kind"], part["host"]) == (1, "segment", HOST)
    assert part["segment"]["segment"] == segment.folder.name
    assert part["counts"] == {"oom-kill": 1}
    assert part["events"][0]["time_us"] == segment.begin_ns // 1000 + 500_000
    files = parts[f"files-{segment.folder.name}-{BOOT}"]
    listed = {file["name"]: file["sha256"] for file in files["files"]}
    assert {"segment.json", "events.parquet", "counters/cores.parquet"} <= set(listed)
    content = place.read(f"hosts/{HOST}/blobs/{listed['segment.json']}")
    assert content == (segment.folder / "segment.json").read_bytes()


def test_the_neighbour_after_an_event_comes_with_the_next_run(tmp_path: Path, place: FolderPlace) -> None:
    first, event = add_segments(tmp_path, 2, {1: "nic-reset"})
    ship_once(tmp_path, place)
    assert ship_once(tmp_path, place).staged == 0
    after, _ = add_segments(tmp_path, 2, begin=2)
    assert ship_once(tmp_path, place).staged == 3, "two segments, and one of them whole"
    parts = check_objects(objects_in(place.root))
    whole = {name for name in parts if name.startswith("files-")}
    assert whole == {f"files-{one.folder.name}-{BOOT}" for one in (first, event, after)}


@pytest.mark.parametrize(("wanted", "whole", "few"), [
    (("never", False), 0, 0), (("never", True), 0, 4), (("events", True), 3, 1), (("all", True), 4, 0),
])  # fmt: skip
def test_what_is_wanted(
    tmp_path: Path, place: FolderPlace, wanted: tuple[str, bool], whole: int, few: int
) -> None:
    add_segments(tmp_path, 4, {1: "nic-reset"})
    ship_once(tmp_path, place, profiles=wanted[0], counters=wanted[1])
    parts = check_objects(objects_in(place.root))
    assert sum(name.startswith("files-") for name in parts) == whole
    assert sum(name.startswith("counters-") for name in parts) == few
    for name, part in parts.items():
        if name.startswith("counters-"):
            assert part["kind"] == "files"
            assert not any(file["name"].startswith("profile/") for file in part["files"])


def test_while_the_place_is_away_all_waits(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 3, {1: "nic-reset"})
    shipped = ship_once(tmp_path, AwayPlace(place.root))
    assert isinstance(shipped.error, PlaceError)
    assert (shipped.staged, shipped.sent, shipped.waiting) == (6, 0, 6)
    shutil.rmtree(
        tmp_path / HOST / read_segment(_folders(tmp_path)[1]).folder.name
    )  # retention takes it away
    assert ship_once(tmp_path, AwayPlace(place.root)).staged == 0
    assert ship_once(tmp_path, place).sent == 6
    assert len(check_objects(objects_in(place.root))) == 6


@pytest.mark.parametrize("writes", [1, 2, 3, 4, 7, 9])
def test_a_place_that_goes_away_in_the_middle_gets_the_rest_later(
    tmp_path: Path, place: FolderPlace, writes: int
) -> None:
    add_segments(tmp_path, 3, {1: "nic-reset"})
    shipped = ship_once(tmp_path, AwayPlace(place.root, writes))
    assert isinstance(shipped.error, PlaceError)
    assert shipped.waiting == 6 - shipped.sent
    rest = ship_once(tmp_path, place)
    assert (rest.sent, rest.waiting) == (6 - shipped.sent, 0)
    assert len(check_objects(objects_in(place.root))) == 6


def test_beyond_the_budget_whole_segments_go_first_and_the_oldest_of_them(
    tmp_path: Path, place: FolderPlace
) -> None:
    segments = add_segments(tmp_path, 8)
    sizes = sum(path.stat().st_size for path in segments[0].folder.rglob("*") if path.is_file())
    budget = int(sizes * 3.5)
    away = AwayPlace(place.root)
    first = ship_once(tmp_path, away, profiles="all", spool_bytes=budget)
    assert first.waiting_bytes <= budget
    later = ship_once(tmp_path, away, profiles="all", spool_bytes=budget)
    assert later.waiting_bytes <= budget
    assert later.given_up
    assert later.given_up_total == len(first.given_up) + len(later.given_up)
    ship_once(tmp_path, place, profiles="all", spool_bytes=budget)
    parts = check_objects(objects_in(place.root))
    assert sum(name.startswith("segment-") for name in parts) == 8, "the small ones are all there"
    whole = sorted(name for name in parts if name.startswith("files-"))
    assert 2 <= len(whole) < 8
    assert whole[-1] == f"files-{segments[-1].folder.name}-{BOOT}", "the newest"


def test_with_the_place_there_a_small_spool_loses_nothing(tmp_path: Path, place: FolderPlace) -> None:
    segments = add_segments(tmp_path, 8)
    sizes = sum(path.stat().st_size for path in segments[0].folder.rglob("*") if path.is_file())
    shipped = ship_once(tmp_path, place, profiles="all", spool_bytes=int(sizes * 2.5))
    assert (shipped.sent, shipped.given_up, shipped.waiting) == (16, (), 0)
    assert len(check_objects(objects_in(place.root))) == 16


def test_a_tiny_spool_gives_up_the_oldest_parts_too(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 6)
    away = AwayPlace(place.root)
    shipped = ship_once(tmp_path, away, spool_bytes=1500)
    assert shipped.waiting_bytes <= 1500
    assert len(shipped.given_up) == 6 - shipped.waiting > 0
    assert ship_once(tmp_path, away, spool_bytes=1500).staged == 0, "what was given up is not staged again"
    ship_once(tmp_path, place, spool_bytes=1500)
    last = sorted(check_objects(objects_in(place.root)))[-1]
    assert last == f"segment-{_folders(tmp_path)[-1].name}-{BOOT}", "the newest is there"


def test_a_request_is_fulfilled_and_taken_away(tmp_path: Path, place: FolderPlace) -> None:
    segments = add_segments(tmp_path, 4)
    ship_once(tmp_path, place)
    begin_us = segments[1].begin_ns // 1000
    name = make_request(place, HOST, Range(begin_us, begin_us + 1_000_000, NOW_NS // 1000))
    assert make_request(place, HOST, Range(begin_us, begin_us + 1_000_000, NOW_NS // 1000)) == name
    ship_once(tmp_path, AwayPlace(place.root))
    assert place.read(name)
    ship_once(tmp_path, place)
    assert place.read(name) is None
    parts = check_objects(objects_in(place.root))
    assert [name for name in parts if name.startswith("files-")] == [
        f"files-{segments[1].folder.name}-{BOOT}"
    ]


def test_a_request_for_what_is_not_recorded_yet_waits(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 1)
    later_us = NOW_NS // 1000 + 3600 * 10**6
    future = make_request(place, HOST, Range(later_us, later_us + 10**6, 0))
    gone = make_request(place, HOST, Range(1, 2, 0))
    ship_once(tmp_path, place)
    assert place.read(future)
    assert place.read(gone) is None, "nothing is recorded of that time, and nothing will be"


def test_what_was_given_up_is_sent_when_somebody_asks(tmp_path: Path, place: FolderPlace) -> None:
    segment = add_segment(tmp_path, 0, "nic-reset")
    ship_once(tmp_path, AwayPlace(place.root), spool_bytes=3000)
    assert not check_objects(objects_in(place.root))
    make_request(place, HOST, Range(segment.begin_ns // 1000, segment.end_ns // 1000, 0))
    ship_once(tmp_path, place)
    assert f"files-{segment.folder.name}-{BOOT}" in check_objects_of_hosts(place)


def check_objects_of_hosts(place: FolderPlace) -> dict[str, object]:
    return check_objects(
        {key: value for key, value in objects_in(place.root).items() if "requests" not in key}
    )


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"schema":1,"begin_us":5,"end_us":4,"made_us":0}'])
def test_what_is_no_request_is_told_and_left(tmp_path: Path, place: FolderPlace, content: bytes) -> None:
    add_segments(tmp_path, 1)
    place.write(f"hosts/{HOST}/requests/odd.json", content)
    shipped = ship_once(tmp_path, place)
    assert shipped.sent == 1
    assert "odd.json is not a request" in shipped.problems[0].what


def test_facts_come_once_an_hour_and_their_sections_once(
    tmp_path: Path, place: FolderPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(Path(__file__).parents[2] / "hosts/debian-6.1-v2")
    segment = add_segment(tmp_path, 0)
    first = ship_once(tmp_path, place, facts_of=host)
    assert first.blobs > 5
    assert ship_once(tmp_path, place, facts_of=host).staged == 0
    monkeypatch.setattr(stage, "hour_of", lambda time_us: "20990101T00")
    hour_later = ship_once(tmp_path, place, facts_of=host)
    assert (hour_later.staged, hour_later.sent, hour_later.blobs) == (1, 1, 0)
    parts = check_objects(objects_in(place.root))
    facts = [part for name, part in parts.items() if name.startswith("facts-")]
    assert facts[0]["facts"] == facts[1]["facts"]
    assert parts[f"segment-{segment.folder.name}-{BOOT}"]["segment"]["facts"] == facts[0]["facts"]


def test_facts_that_were_staged_before_a_kill_are_remembered(tmp_path: Path, place: FolderPlace) -> None:
    host = Host(Path(__file__).parents[2] / "hosts/debian-6.1-v2")
    (tmp_path / HOST).mkdir()
    ship_once(tmp_path, AwayPlace(place.root), facts_of=host)
    (tmp_path / HOST / ".ship/progress.json").unlink()
    segment = add_segment(tmp_path, 0)
    ship_once(tmp_path, place, facts_of=host)
    parts = check_objects(objects_in(place.root))
    facts = [part for name, part in parts.items() if name.startswith("facts-")]
    assert len(facts) == 1
    assert parts[f"segment-{segment.folder.name}-{BOOT}"]["segment"]["facts"] == facts[0]["facts"]


def test_a_damaged_segment_is_told_and_the_others_go_on(tmp_path: Path, place: FolderPlace) -> None:
    segments = add_segments(tmp_path, 5)
    (segments[1].folder / "counters/cores.parquet").write_bytes(b"nonsense")
    (segments[2].folder / "segment.json").write_text("{")
    (segments[3].folder / "events.parquet").unlink()
    (tmp_path / HOST / "20260101T000000Z").mkdir()  # being made, or being removed
    for _ in range(2):
        shipped = ship_once(tmp_path, place)
        assert len(shipped.problems) == 3
        assert shipped.error is None
    assert len(check_objects(objects_in(place.root))) == 2


def test_a_segment_that_is_not_as_sealed_is_not_sent_whole(tmp_path: Path, place: FolderPlace) -> None:
    segment = add_segment(tmp_path, 0, "nic-reset")
    readings = segment.folder / "counters/readings.parquet"
    readings.write_bytes(readings.read_bytes() + b"x")
    description = json.loads((segment.folder / "segment.json").read_text())
    other = add_segment(tmp_path, 1)
    document = json.loads((other.folder / "segment.json").read_text())
    document["files"].append({"name": "../../secret", "bytes": 1, "sha256": "0" * 64})
    (other.folder / "segment.json").write_text(json.dumps(document))
    shipped = ship_once(tmp_path, place)
    assert len(shipped.problems) == 2
    assert not any(name.startswith("files-") for name in check_objects(objects_in(place.root)))
    assert description["kept"] == 2


def test_two_at_once_do_not_fight(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 1)
    ship_once(tmp_path, place)
    with locked(tmp_path / HOST / ".ship" / LOCK, 0o640), pytest.raises(StoreHeldError, match="pid"):
        ship_once(tmp_path, place)


def test_another_place_gets_all_again(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 3)
    ship_once(tmp_path, place)
    (tmp_path / "other").mkdir()
    assert ship_once(tmp_path, FolderPlace(tmp_path / "other")).sent == 3
    assert objects_in(tmp_path / "other") == objects_in(place.root), "the same segments give the same bytes"


def test_without_its_memory_it_sends_the_same_again(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 3, {1: "nic-reset"})
    ship_once(tmp_path, place)
    before = objects_in(place.root)
    (tmp_path / HOST / ".ship/progress.json").write_text("{")
    assert ship_once(tmp_path, place).sent == 6
    assert objects_in(place.root) == before


def test_after_some_time_it_begins_nothing_anew(tmp_path: Path, place: FolderPlace) -> None:
    add_segments(tmp_path, 3)
    shipped = ship_once(tmp_path, place, seconds=-1)
    assert (shipped.staged, shipped.is_more, shipped.error) == (0, True, None)
    assert ship_once(tmp_path, place).sent == 3


def test_a_clock_that_was_wrong_at_first_is_set_right(tmp_path: Path, place: FolderPlace) -> None:
    right = add_segment(tmp_path, 1)
    wrong = add_segment(tmp_path, 0)
    description = json.loads((wrong.folder / "segment.json").read_text())
    description["clock"]["synchronised"] = False
    for name in ("begin_ns", "end_ns"):
        description[name] -= 10**15
    description["clock"]["offset_ns"] -= 10**15
    (wrong.folder / "segment.json").write_text(json.dumps(description))
    ship_once(tmp_path, place)
    parts = check_objects(objects_in(place.root))
    told = parts[f"segment-{wrong.folder.name}-{BOOT}"]["segment"]
    assert (told["begin_us"], told["synchronised"]) == (wrong.begin_ns // 1000, True)
    assert replace(right, folder=wrong.folder).boot_id == wrong.boot_id


def test_where_nothing_is_recorded(tmp_path: Path, place: FolderPlace) -> None:
    with pytest.raises(NothingRecordedError):
        ship_once(tmp_path, place)
    (tmp_path / HOST).mkdir()
    assert ship_once(tmp_path, place).staged == 0


def _folders(store: Path) -> list[Path]:
    return sorted(path for path in (store / HOST).iterdir() if not path.name.startswith("."))
