from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.fleet.tables import drop_old
from necroscope.fleet.tables.index import INDEX, DamagedIndexError, Index, index_bytes, parse_index
from necroscope.fleet.tables.ingest import ingest
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.model.timestamp import HOUR_US
from tests.fleet.tables.places import Elsewhere
from tests.fleet.tables.shipped import BEGIN_US, put_facts, put_files, put_segment, rows_of

DAY_US = 24 * HOUR_US


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE", str(tmp_path / "cache"))


def names(place: Elsewhere, prefix: str = "tables/") -> list[str]:
    return [stored.name for stored in place.below(prefix)]


def recent_us() -> int:
    return time.time_ns() // 1000 // HOUR_US * HOUR_US - HOUR_US


def test_old_hours_leave_the_index_then_their_files_and_blobs_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Elsewhere(tmp_path)
    put_facts(place, "a", recent_us(), labels={"zone": "a"})
    put_segment(place, "a", BEGIN_US)
    put_segment(place, "a", recent_us())
    put_files(place, "a", {"profile": b"old", "events": b"the same in both"}, BEGIN_US)
    put_files(place, "a", {"profile": b"new", "events": b"the same in both"}, recent_us())
    before = len(names(place, "hosts/a/blobs/"))
    assert before == 6
    done = ingest(place, keep_us=30 * DAY_US)
    assert (done.removed.hours, done.removed.files, done.removed.blobs) == (2, 0, 0)
    assert [row["begin_us"] for row in rows_of(place, "segments")] == [recent_us()]
    assert any("20260415T10" in name for name in names(place)), "somebody may still be reading"
    assert ingest(place, keep_us=30 * DAY_US).removed.files == 0
    monkeypatch.setattr(drop_old, "READ_FOR_US", 0)
    done = ingest(place, keep_us=30 * DAY_US)
    assert (done.removed.hours, done.removed.files, done.removed.blobs) == (0, 2, 2)
    assert not any("20260415T10" in name for name in names(place))
    kept = {place.read(name) for name in names(place, "hosts/a/blobs/")}
    assert {b"new", b"the same in both"} < kept
    assert b"old" not in kept
    assert not parse_index(place.read(INDEX) or b"").replaced


def test_without_keep_everything_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop_old, "READ_FOR_US", 0)
    place = Elsewhere(tmp_path)
    put_segment(place, "a", 10**15)
    ingest(place)
    assert ingest(place).removed.hours == 0
    assert len(rows_of(place, "segments")) == 1


def test_files_that_were_replaced_go_an_hour_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Elsewhere(tmp_path)
    put_segment(place, "a")
    ingest(place)
    (before,) = names(place)
    tables = read_tables(place)
    put_segment(place, "b")
    ingest(place)
    assert before in names(place)
    assert tables.paths("segments")[0].exists(), "who has read the index before can go on"
    monkeypatch.setattr(drop_old, "READ_FOR_US", 0)
    assert ingest(place).removed.files == 1
    assert before not in names(place)
    assert len(rows_of(place, "segments")) == 2


def test_what_a_killed_ingest_left_goes_after_two_hours(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path)
    put_segment(place, "a")
    ingest(place)
    left = "tables/segments/20260415T10-0123456789abcdef.parquet"
    place.write(left, b"x")
    assert ingest(place).removed.files == 0
    os.utime(tmp_path / left, (time.time() - 7300,) * 2)
    assert ingest(place).removed.files == 1
    assert len(rows_of(place, "segments")) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema":1}', b'{"schema":1,"files":[{}]}', None])
def test_a_damaged_index_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    place = Elsewhere(tmp_path)
    for host in ("a", "b", "c"):
        put_segment(place, host, resets=1)
        put_facts(place, host, labels={"zone": host})
        ingest(place)
    assert len(names(place)) == 15, "outdated ones among them"
    if content is None:
        place.remove(INDEX)
    else:
        place.write(INDEX, content)
        with pytest.raises(DamagedIndexError, match="damaged"):
            read_tables(place)
    put_segment(place, "d")
    done = ingest(place)
    assert done.made_anew
    for table, rows in {"segments": 4, "events": 3, "facts": 3, "fact_sets": 3, "sections": 3}.items():
        assert len(rows_of(place, table)) == rows, table


def test_a_damaged_table_is_told_when_the_index_is_made_anew_and_kept(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path)
    put_segment(place, "a", BEGIN_US)
    put_segment(place, "a", BEGIN_US + HOUR_US)
    ingest(place)
    bad, good = names(place)
    place.write(bad, (place.read(bad) or b"")[:-1])
    place.write(INDEX, b"")
    ingest(place)
    os.utime(tmp_path / bad, (time.time() - 7300,) * 2)
    ingest(place)
    index = parse_index(place.read(INDEX) or b"")
    assert list(index.rejected) == [bad]
    assert [file.name for file in index.files] == [good]
    assert bad in names(place)
    place.remove(bad)
    ingest(place)
    assert not parse_index(place.read(INDEX) or b"").rejected


def test_an_hour_whose_file_is_damaged_is_not_written_over(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    put_segment(place, "a")
    ingest(place)
    (name,) = names(place)
    place.write(name, b"x" * 10)
    part = put_segment(place, "b")
    with pytest.raises(StoreError, match=name):
        ingest(place)
    assert place.read(part) is not None


def test_an_index_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path)
    content = json.dumps({**json.loads(index_bytes(Index())), "schema": 2}).encode()
    place.write(INDEX, content)
    part = put_segment(place, "a")
    with pytest.raises(StoreError, match="schema 2") as told:
        ingest(place)
    assert "newer" in told.value.hint
    assert place.read(INDEX) == content
    assert place.read(part) is not None
    assert not names(place)
