"""A folder as a place."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from necroscope.errors import PlaceError, UsageError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.place.place import open_place


def test_objects_come_back(tmp_path: Path) -> None:
    place = open_place(str(tmp_path))
    place.write("a/b/c", b"one")
    place.write("a/b/c", b"two")
    (tmp_path / "file").write_bytes(b"three")
    place.write_file("a/d", tmp_path / "file")
    assert (place.read("a/b/c"), place.read("a/d"), place.read("a/x"), place.read("a/b")) == (
        b"two", b"three", None, None,
    )  # fmt: skip
    assert (place.size("a/b/c"), place.size("a/x"), place.size("a/b")) == (3, None, None)
    assert [one.name for one in place.below("a/")] == ["a/b/c", "a/d"]
    assert [one.bytes for one in place.below("")] == [3, 5, 5]
    assert (place.folders("a/"), place.folders("none/")) == (["b"], [])
    assert place.fetch("a/d", tmp_path / "new/copy", 5)
    assert (tmp_path / "new/copy").read_bytes() == b"three"
    assert not place.fetch("a/x", tmp_path / "new/other", 5)
    place.remove("a/d")
    place.remove("a/d")
    assert place.read("a/d") is None
    assert list(place.below("none/")) == []


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a//b", "."])
def test_no_name_leads_out_of_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "place").mkdir()
    place = FolderPlace(tmp_path / "place")
    with pytest.raises(PlaceError):
        place.write(name, b"x")
    with pytest.raises(PlaceError):
        place.read(name)
    with pytest.raises(PlaceError):
        place.remove(name)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_the_folder_itself_is_never_made(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "not mounted"
    if kind == "file":
        root.write_text("mine")
    place = open_place(f"file://{root}")
    attempts: list[Callable[[], object]] = [
        lambda: place.write("a/b", b"x"),
        lambda: place.read("a/b"),
        lambda: place.size("a"),
        lambda: list(place.below("")),
        lambda: place.folders("hosts/"),
    ]
    for attempt in attempts:
        with pytest.raises(PlaceError, match=r"is not there|is not a folder") as caught:
            attempt()
        assert "mount it" in caught.value.hint
    assert not root.is_dir()


def test_two_writers_at_once_leave_one_whole_object(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(4)]

    def write(content: bytes) -> None:
        for _ in range(20):
            FolderPlace(tmp_path).write("hosts/a/x", content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    reader, seen = FolderPlace(tmp_path), set()
    while any(thread.is_alive() for thread in threads):
        seen.add(reader.read("hosts/a/x"))
    assert seen <= {None, *contents}, "nobody ever sees half of one"
    assert [one.name for one in reader.below("")] == ["hosts/a/x"]
    assert len(list((tmp_path / "hosts/a").iterdir())) == 1


def test_what_a_killed_writer_left_is_not_listed_and_goes_after_an_hour(tmp_path: Path) -> None:
    folder = tmp_path / "hosts/a"
    folder.mkdir(parents=True)
    old, new = folder / ".old.0.partial", folder / ".new.0.partial"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    place = FolderPlace(tmp_path)
    assert list(place.below("")) == []
    place.write("hosts/a/x", b"whole")
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("address", ["ftp://host/x", "http://host", "gs://bucket"])
def test_what_is_no_place(address: str) -> None:
    with pytest.raises(UsageError, match="not a place"):
        open_place(address)
