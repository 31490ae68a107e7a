"""What goes when room runs out, and what stays."""

from __future__ import annotations

import json
import random
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from necroscope.store import retention
from necroscope.store.retention import CACHE, Budget, Entry, beyond, in_order, make_room, read_entries
from necroscope.store.store import Store
from tests.stored import (
    HOST,
    OFFSET_NS,
    SECOND_NS,
    UTC_NS,
    anchor_at,
    event_of,
    open_segment,
    sealed_segment,
    seconds_of,
)

LENGTH_NS = 120 * SECOND_NS
NOW_NS = UTC_NS + 3600 * SECOND_NS
PLENTY = Budget(10**12, 10**12, 10**9)


def entry(
    number: int, *, boot: str = "boot", size: int = 10, kept: bool = False, offset_ns: int = 0
) -> Entry:
    """The segment of a boot with this number; the wall clock was `offset_ns` ahead."""
    begin_ns = number * LENGTH_NS
    end_ns = UTC_NS + begin_ns + LENGTH_NS + offset_ns
    return Entry(f"{number:03}", 1, boot, begin_ns, end_ns, size, kept, is_open=False)


def gone(entries: list[Entry], budget: Budget, now_ns: int = NOW_NS) -> list[str]:
    return [one.name for one in beyond(in_order(entries), budget, now_ns)]


def test_within_the_budget_nothing_goes() -> None:
    assert gone([entry(n) for n in range(9)], replace(PLENTY, total_bytes=90)) == []


def test_the_oldest_go_first_and_no_more_than_needed() -> None:
    assert gone([entry(n) for n in range(9)], replace(PLENTY, total_bytes=65)) == ["000", "001", "002"]


def test_what_is_too_old_goes_whatever_the_room() -> None:
    entries = [entry(n) for n in range(5)]
    budget = replace(PLENTY, age_seconds=3600 - 2.5 * 120)
    assert gone(entries, budget) == ["000", "001"]


def test_segments_with_events_stay_and_so_do_their_neighbours() -> None:
    entries = [entry(n, kept=n == 2) for n in range(9)]
    assert gone(entries, replace(PLENTY, total_bytes=40)) == ["000", "004", "005", "006", "007"]
    assert gone(entries, replace(PLENTY, age_seconds=0)) == ["000", "004", "005", "006", "007", "008"]


def test_a_neighbour_of_another_boot_is_none() -> None:
    entries = [entry(0, boot="old"), entry(1, boot="new", kept=True), entry(2, boot="newer")]
    assert gone(entries, replace(PLENTY, total_bytes=0)) == ["000", "002"]


def test_kept_ones_have_a_budget_of_their_own_and_the_newest_have_it_longest() -> None:
    entries = [entry(n, kept=n in (1, 4, 7)) for n in range(9)]
    assert gone(entries, Budget(0, 60, 10**9)) == ["000", "001", "002"]
    assert gone(entries, Budget(0, 25, 10**9)) == [f"{n:03}" for n in range(7)]
    assert gone(entries, Budget(0, 0, 10**9)) == [f"{n:03}" for n in range(9)]


def test_open_ones_never_go() -> None:
    entries = [replace(entry(n), is_open=n in (0, 3)) for n in range(4)]
    assert gone(entries, Budget(0, 0, 0)) == ["001", "002"]


def test_what_perf_writes_of_an_open_one_does_not_take_the_room_of_those_with_events() -> None:
    entries = [entry(n, kept=n > 3) for n in range(7)]
    entries.append(replace(entry(7, kept=True, size=1000), is_open=True))
    assert gone(entries, Budget(100, 40, 10**9)) == []
    assert gone(entries, Budget(50, 40, 10**9)) == ["000", "001"]


def test_a_wall_clock_set_back_an_hour_changes_no_order() -> None:
    before = [entry(n) for n in range(4)]
    after = [entry(n, offset_ns=-3600 * SECOND_NS) for n in range(4, 8)]
    mixed = [*before, *after]
    random.Random(1).shuffle(mixed)
    assert [one.name for one in in_order(mixed)] == [f"{n:03}" for n in range(8)]
    assert gone(mixed, replace(PLENTY, total_bytes=50)) == ["000", "001", "002"]


def test_what_was_recorded_under_a_wrong_clock_is_not_taken_for_old() -> None:
    """A machine boots in 1970, and NTP sets its clock minutes later."""
    wrong = [entry(n, offset_ns=-UTC_NS) for n in range(3)]
    assert gone([*wrong, entry(3), entry(4)], replace(PLENTY, age_seconds=86400)) == []
    assert gone([*wrong, entry(3), entry(4)], replace(PLENTY, age_seconds=3600 - 2.5 * 120)) == ["000", "001"]


def test_boots_follow_each_other_by_the_last_time_they_had() -> None:
    first = [entry(n, boot="z") for n in (50, 51)]
    second = [entry(n, boot="a", offset_ns=100 * LENGTH_NS) for n in (0, 1)]
    assert [one.boot_id for one in in_order([*second, *first])] == ["z", "z", "a", "a"]


def test_frequent_events_give_way_to_rare_ones() -> None:
    entries = [replace(entry(n), kept=2 if n == 1 else int(n > 4)) for n in range(12)]
    assert gone(entries, Budget(0, 55, 10**9)) == ["003", *(f"{n:03}" for n in range(4, 10))]


def test_imports_stand_by_their_own_time_among_the_boots() -> None:
    early = replace(entry(0, boot=""), name="early", end_ns=UTC_NS)
    late = replace(entry(0, boot=""), name="late", end_ns=UTC_NS + 50 * LENGTH_NS)
    names = [one.name for one in in_order([late, entry(1), early, entry(2)])]
    assert names == ["early", "001", "002", "late"]
    assert gone([late, entry(1), early, entry(2)], replace(PLENTY, total_bytes=15)) == ["001"]
    assert gone([late, early], Budget(0, 0, 0)) == [], "a capture that was imported is its owner's to remove"


def test_the_budget_is_never_more_than_the_file_system_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(total=1000, free=400)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert Budget(500, 100, 1).on(tmp_path, 300) == Budget(500, 100, 1)
    assert Budget(5000, 4000, 1).on(tmp_path, 300) == Budget(600, 300, 1), "a tenth is left to others"
    assert Budget(5000, 4000, 1).on(tmp_path, 300, 250) == Budget(350, 175, 1), "captures take of the room"
    assert Budget(350, 100, 1).on(tmp_path, 300, 250) == Budget(350, 100, 1), "and not of the budget"


def test_who_else_fills_the_disk_does_not_get_all_of_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(total=1000, free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert Budget(5000, 4000, 1).on(tmp_path, 250).total_bytes == 200


# --- on real folders ----------------------------------------------------------------------------


def stored(tmp_path: Path) -> Path:
    """Four sealed segments of 5 s, the third with an OOM kill, and an open one."""
    moments = seconds_of(["idle"] * 25)
    for number in range(4):
        events = [event_of("oom-kill", 12)] if number == 2 else []
        sealed_segment(tmp_path, moments[number * 5 : number * 5 + 6], events)
    open_segment(tmp_path, moments[20:])
    return tmp_path / HOST


def test_entries_are_what_the_descriptions_say(tmp_path: Path) -> None:
    entries = in_order(read_entries(stored(tmp_path)))
    segments = Store(tmp_path).segments()
    assert [one.name for one in entries] == [segment.folder.name for segment in segments]
    assert [one.kept for one in entries] == [0, 0, 2, 0, 0]
    assert [one.is_open for one in entries] == [False] * 4 + [True]
    for one, segment in zip(entries, segments, strict=True):
        assert one.boot_id == segment.boot_id
        assert one.begin_monotonic_ns == segment.begin_ns - OFFSET_NS
        sizes = [path.stat().st_size for path in segment.folder.rglob("*") if path.is_file()]
        assert one.size_bytes == sum(sizes)


def test_room_is_made_on_disk(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    left = make_room(folder, Budget(10**9, 10**8, age_seconds=60), NOW_NS)
    assert [one.name for one in left] == [f"20260415T1000{second:02}Z" for second in (5, 10, 15, 20)]
    assert sorted(path.name for path in folder.glob("2*")) == [one.name for one in left]
    assert [s.folder.name for s in Store(tmp_path).segments()] == [one.name for one in left]


def test_without_room_only_the_open_one_stays(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    left = make_room(folder, Budget(0, 10**9, 10**9), NOW_NS)
    assert [one.is_open for one in left] == [True], "those with events may take half of the room at most"


def test_the_cache_saves_reading_descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stored(tmp_path)
    before = in_order(read_entries(folder))
    make_room(folder, PLENTY, NOW_NS)
    read = []
    real = retention._read

    def note(path: Path, stamp: int) -> Entry:
        read.append(path)
        return real(path, stamp)

    monkeypatch.setattr(retention, "_read", note)
    assert in_order(read_entries(folder)) == before
    assert [path.parent.name for path in read] == ["20260415T100020Z"], "only the open one grows"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"{}", b"[{}]", b"[5]", b'[{"name": "x"}]', b'{"name": 1}', b"\xff\xfe"]
)
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    folder = stored(tmp_path)
    before = in_order(read_entries(folder))
    (folder / CACHE).write_bytes(damage)
    assert in_order(read_entries(folder)) == before
    make_room(folder, PLENTY, NOW_NS)
    assert len(json.loads((folder / CACHE).read_bytes())) == 5


def test_a_deleted_cache_is_not_missed(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    before = make_room(folder, PLENTY, NOW_NS)
    (folder / CACHE).unlink()
    assert in_order(read_entries(folder)) == before


def test_a_stale_cache_is_not_believed(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    make_room(folder, PLENTY, NOW_NS)
    first, second, *_ = sorted(folder.glob("2*"))
    shutil.rmtree(first)
    document = json.loads((second / "segment.json").read_text())
    time.sleep(0.002)
    (second / "segment.json").write_text(json.dumps({**document, "kept": True}))
    entries = {one.name: one for one in read_entries(folder)}
    assert first.name not in entries
    assert entries[second.name].kept


def test_a_damaged_segment_and_other_folders_are_left_for_a_person(tmp_path: Path) -> None:
    folder = stored(tmp_path)
    broken, *_ = sorted(folder.glob("2*"))
    (broken / "segment.json").write_text("{")
    (folder / ".capture").mkdir()
    (folder / "notes").mkdir()
    left = make_room(folder, Budget(0, 0, 0), NOW_NS)
    assert broken.name not in {one.name for one in left}
    assert {path.name for path in folder.iterdir()} >= {broken.name, ".capture", "notes"}


def test_the_wall_clock_set_back_on_real_segments(tmp_path: Path) -> None:
    moments = seconds_of(["idle"] * 15)
    sealed_segment(tmp_path, moments[:6])
    back = anchor_at(moments[5].time_ns, OFFSET_NS - 3600 * SECOND_NS)
    sealed_segment(tmp_path, moments[5:11], anchor=back)
    entries = in_order(read_entries(tmp_path / HOST))
    assert [one.name for one in entries] == ["20260415T100000Z", "20260415T090005Z"]
