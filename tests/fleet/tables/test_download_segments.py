from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

from lab.fleets.written_tables import write_fleet_tables
from necroscope.errors import NothingRecordedError, StoreError
from necroscope.fleet.tables.download_segments import bring_files, bring_segment, is_inside
from necroscope.fleet.tables.read_tables import read_tables
from necroscope.store.store import Store, describe_files
from tests.fleet.tables.places import Elsewhere
from tests.stored import HOST, UTC_NS, event_of, sealed_segment, seconds_of


def shipped(tmp_path: Path, **change: str) -> tuple[Elsewhere, str]:
    """A place to which a host has shipped a segment, whose files may be told to be others."""
    segment = sealed_segment(tmp_path / "host", seconds_of(["user"] * 5), [event_of("nic-reset", 2)])
    place = Elsewhere(tmp_path / "place")
    rows = []
    for file in describe_files(segment.folder, sorted(segment.folder.iterdir())):
        name, sha256 = str(file["name"]), str(file["sha256"])
        place.write_file(f"hosts/{HOST}/blobs/{sha256}", segment.folder / name)
        rows.append({"name": change.get(name, name), "bytes": file["bytes"], "sha256": sha256})
    whole = {"host": HOST, "segment": segment.folder.name, "boot_id": "b", "begin_us": UTC_NS // 1000}
    write_fleet_tables(
        tmp_path / "place", {"files": [pa.Table.from_pylist([{**whole, **row} for row in rows])]}
    )
    return place, segment.folder.name


def test_a_shipped_segment_is_read_like_one_of_this_machine(tmp_path: Path) -> None:
    place, name = shipped(tmp_path)
    tables = read_tables(place)
    folder = bring_segment(place, tables, HOST, name, tmp_path / "store")
    assert folder == tmp_path / "store" / HOST / name
    (brought,), (recorded,) = Store(tmp_path / "store").segments(), Store(tmp_path / "host").segments()
    assert brought.description == recorded.description
    files = [describe_files(one.folder, sorted(one.folder.iterdir())) for one in (brought, recorded)]
    assert files[0] == files[1]
    place.fetched.clear()
    assert bring_segment(place, tables, HOST, name, tmp_path / "store") == folder
    assert not place.fetched


def test_what_was_not_shipped_is_told(tmp_path: Path) -> None:
    place, name = shipped(tmp_path)
    for host, segment in ((HOST, "20200101T000000Z"), ("other", name), ("..", name), (HOST, "../x")):
        with pytest.raises(NothingRecordedError):
            bring_segment(place, read_tables(place), host, segment, tmp_path / "store")


def test_a_damaged_file_leaves_nothing(tmp_path: Path) -> None:
    place, name = shipped(tmp_path)
    blob = next(place.below(f"hosts/{HOST}/blobs/")).name
    place.write(blob, b"x" * 100)
    with pytest.raises(StoreError, match="damaged"):
        bring_segment(place, read_tables(place), HOST, name, tmp_path / "store")
    place.remove(blob)
    with pytest.raises(StoreError, match="is not there"):
        bring_segment(place, read_tables(place), HOST, name, tmp_path / "store")
    assert not list((tmp_path / "store" / HOST).iterdir())


def test_no_file_leaves_its_segment(tmp_path: Path) -> None:
    place, name = shipped(tmp_path, **{"events.parquet": "../../../evil"})
    with pytest.raises(StoreError, match="outside"):
        bring_segment(place, read_tables(place), HOST, name, tmp_path / "store")
    assert not list(tmp_path.rglob("evil"))
    assert [is_inside(bad) for bad in ("", ".", "..", "/a", "a/../b", "a//b", "./a", "a/")] == [False] * 8
    assert is_inside("profile/samples.parquet")


def test_the_least_recently_used_goes_but_nothing_that_was_recorded_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, name = shipped(tmp_path)
    store = tmp_path / "store"
    old, own = store / "old" / "20200101T000000Z", store / "own" / "20200101T000000Z"
    for folder in (old, own):
        folder.mkdir(parents=True)
        (folder / "segment.json").write_text("{}")
    mark = store / ".brought/old/20200101T000000Z"
    mark.parent.mkdir(parents=True)
    mark.write_text("1000")
    long_ago = time.time() - 86400
    os.utime(mark, (long_ago, long_ago))
    monkeypatch.setenv("NECROSCOPE_FLEET_CACHE_SIZE", "1")
    folder = bring_segment(place, read_tables(place), HOST, name, store)
    assert folder.exists(), "in use: it stays although there is too much"
    assert not old.exists()
    assert not mark.exists()
    assert own.exists()


def test_what_came_without_its_samples_comes_again_when_they_are_there(tmp_path: Path) -> None:
    place, store = Elsewhere(tmp_path / "place"), tmp_path / "store"
    row = {"host": "h", "segment": "20260415T100000Z", "boot_id": "b", "begin_us": UTC_NS // 1000}
    rows = []
    for name, content in (("segment.json", b"{}"), ("profile/samples.parquet", b"samples")):
        sha256 = hashlib.sha256(content).hexdigest()
        place.write(f"hosts/h/blobs/{sha256}", content)
        rows.append({**row, "name": name, "bytes": len(content), "sha256": sha256})
        write_fleet_tables(tmp_path / "place", {"files": [pa.Table.from_pylist(rows)]})
        folder = bring_segment(place, read_tables(place), "h", "20260415T100000Z", store)
        assert (folder / name).read_bytes() == content
    assert [path.name for path in folder.parent.iterdir()] == ["20260415T100000Z"]
    (store / ".brought/h/20260415T100000Z").unlink()  # as if it had been recorded here
    (folder / "segment.json").write_text("own")
    bring_files(place, "h", "20260415T100000Z", [("segment.json", 2, sha256)], store)
    assert (folder / "segment.json").read_text() == "own"


def test_a_segment_whose_host_had_a_wrong_clock_is_found(tmp_path: Path) -> None:
    place = Elsewhere(tmp_path / "place")
    content = b"{}"
    sha256 = hashlib.sha256(content).hexdigest()
    place.write(f"hosts/h/blobs/{sha256}", content)
    row = {"host": "h", "segment": "19700101T000000Z", "boot_id": "b", "begin_us": UTC_NS // 1000}
    row |= {"name": "segment.json", "bytes": 2, "sha256": sha256}
    write_fleet_tables(tmp_path / "place", {"files": [pa.Table.from_pylist([row])]})
    folder = bring_segment(place, read_tables(place), "h", "19700101T000000Z", tmp_path / "store")
    assert (folder / "segment.json").read_bytes() == content
