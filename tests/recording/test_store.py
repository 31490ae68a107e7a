from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.recording.store import Store, read_segment, safe_name, seal

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
    (file,) = segment.description["files"]
    assert (file["name"], file["bytes"], file["sha256"][:8]) == ("data", 3, "ba7816bf")


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


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"segment\.json: No such file"):
        read_segment(tmp_path)


@pytest.mark.parametrize(
    ("name", "safe"), [("a/b", "a-b"), ("../..", "-.."), ("", ""), (".x", "x"), ("é 1", "é-1")]
)
def test_host_names_as_folders(name: str, safe: str) -> None:
    assert safe_name(name) == safe
