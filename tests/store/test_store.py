from __future__ import annotations

import os
from pathlib import Path

import pytest

from necroscope.errors import CannotLookError, StoreError
from necroscope.store.store import Store, has_file, read_segment, safe_name, seal
from tests.stored import open_segment, sealed_segment, seconds_of

BEGIN_NS = 1_776_247_331 * 10**9
DESCRIPTION = {
    "host": {"hostname": "node-17"},
    "begin_ns": BEGIN_NS,
    "end_ns": BEGIN_NS + 10**9,
    "clock": {"offset_ns": 5, "basis": "a test"},
}


def test_a_sealed_segment_is_found_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.new_segment("node-17") as folder:
        (folder / "data").write_bytes(b"abc")
        segment = seal(folder, DESCRIPTION, BEGIN_NS)
    assert segment.folder == tmp_path / "node-17/20260415T100211Z"
    assert store.segments() == [segment]
    (file,) = segment.description.files
    assert (file.name, file.bytes, file.sha256[:8]) == ("data", 3, "ba7816bf")


def test_what_was_not_sealed_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(ValueError, match="boom"), store.new_segment("node-17") as folder:
        (folder / "data").write_bytes(b"abc")
        raise ValueError("boom")
    assert list((tmp_path / "node-17").iterdir()) == []
    assert store.segments() == []


def test_a_segment_being_made_is_not_a_segment(tmp_path: Path) -> None:
    (tmp_path / "node-17/.making-x").mkdir(parents=True)
    (tmp_path / "node-17/.making-x/segment.json").write_text("{")
    assert Store(tmp_path).segments() == []


def test_a_hidden_folder_is_not_that_of_a_host(tmp_path: Path) -> None:
    (tmp_path / ".snapshot/20260415T100211Z").mkdir(parents=True)
    (tmp_path / ".snapshot/20260415T100211Z/segment.json").write_text("{")
    store = Store(tmp_path)
    assert (store.segments(), store.damaged) == ([], [])


def test_a_link_to_itself_is_no_host(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert Store(tmp_path).segments() == []


def test_segments_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for _ in range(3):
        with store.new_segment("n") as folder:
            seal(folder, DESCRIPTION, BEGIN_NS)
    assert [s.folder.name for s in store.segments()] == [
        "20260415T100211Z",
        "20260415T100211Z-1",
        "20260415T100211Z-2",
    ]


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="Not a directory"), Store(tmp_path / "file").new_segment("n"):
        pass


def test_damaged_segments_are_remembered_and_the_others_come_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.new_segment("n") as folder:
        whole = seal(folder, DESCRIPTION, BEGIN_NS)
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"schema": 99}'), ("d", '{"schema": 1, "host": "n"}')):
        (tmp_path / "n" / name).mkdir()
        (tmp_path / "n" / name / "segment.json").write_text(text)
    (tmp_path / "n/empty").mkdir()
    (tmp_path / "n/file").write_text("")
    (tmp_path / "file").write_text("")
    for _ in range(2):
        assert store.segments() == [whole]
        assert [damage.folder.name for damage in store.damaged] == ["a", "b", "c", "d"]
        assert all(isinstance(damage.error, StoreError) for damage in store.damaged)


@pytest.mark.parametrize(
    "name", ["segment.json", "journal.frames", "counters/cores.parquet", "events.parquet"]
)
def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Made up, since root may read all."""
    make = open_segment if name == "journal.frames" else sealed_segment
    segment = make(tmp_path, seconds_of(["idle"] * 3))
    path = segment.folder / name
    stat = Path.stat

    def refuse(self: Path, *_: object, **__: object) -> os.stat_result:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return stat(self)

    monkeypatch.setattr(Path, "stat", refuse)
    read_text, read_bytes = Path.read_text, Path.read_bytes
    monkeypatch.setattr(Path, "read_text", lambda self: (refuse(self), read_text(self))[1])
    monkeypatch.setattr(Path, "read_bytes", lambda self: (refuse(self), read_bytes(self))[1])
    with pytest.raises(CannotLookError, match=f"not permitted to read {path}$"):
        has_file(read_segment(segment.folder), name)


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"segment\.json: No such file"):
        read_segment(tmp_path)


@pytest.mark.parametrize(
    ("name", "safe"), [("a/b", "a-b"), ("../..", "-.."), ("", ""), (".x", "x"), ("é 1", "é-1")]
)
def test_host_names_as_folders(name: str, safe: str) -> None:
    assert safe_name(name) == safe
