"""The spool with things in it that should not be, and on disks that fill up."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from necroscope.errors import StoreError
from necroscope.fleet.place.folder import FolderPlace
from necroscope.fleet.ship.spool import Spool
from tests.fleet.ship.stores import add_segments, check_objects, objects_in, ship_once
from tests.fleet.ship.test_run import AwayPlace
from tests.stored import HOST

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")


@pytest.fixture
def place(tmp_path: Path) -> FolderPlace:
    (tmp_path / "place").mkdir()
    return FolderPlace(tmp_path / "place")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def staged(store: Path, place: FolderPlace) -> Spool:
    """A spool with three segments, all of them whole."""
    add_segments(store, 3, {1: "nic-reset"})
    ship_once(store, AwayPlace(place.root))
    return Spool(store / HOST)


def test_foreign_files_are_told_and_left_alone(tmp_path: Path, place: FolderPlace) -> None:
    spool = staged(tmp_path, place)
    foreign = [spool.folder / "parts" / name for name in ("notes.txt", "segment-x.json", "core.1")]
    foreign += [spool.folder / "blobs" / "abc", spool.folder / "elsewhere"]
    for path in foreign:
        path.write_text("mine")
    (spool.folder / "parts" / "folder").mkdir()
    shipped = ship_once(tmp_path, place)
    assert (shipped.sent, shipped.waiting) == (6, 0)
    assert "files in the spool are not of it" in shipped.problems[0].what
    assert all(path.read_text() == "mine" for path in foreign)
    assert len(check_objects(objects_in(place.root))) == 6


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_truncated_part_is_staged_anew(tmp_path: Path, place: FolderPlace, cut: int) -> None:
    spool = staged(tmp_path, place)
    for waiting in spool.waiting():
        waiting.path.write_bytes(waiting.path.read_bytes()[:cut])
    first = ship_once(tmp_path, place)
    assert first.sent == 0
    assert len(first.problems) == 6
    assert not check_objects(objects_in(place.root)), "nothing that is not whole was sent"
    assert ship_once(tmp_path, place).sent == 6
    assert len(check_objects(objects_in(place.root))) == 6


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_a_blob_that_is_lost_is_staged_anew(tmp_path: Path, place: FolderPlace, harm: str) -> None:
    spool = staged(tmp_path, place)
    blob = next(iter((spool.folder / "blobs").iterdir()))
    content = blob.read_bytes()
    blob.unlink()
    if harm == "damaged":
        blob.write_bytes(content[:-1] + b"?")
    first = ship_once(tmp_path, place)
    assert first.problems
    ship_once(tmp_path, place)
    assert len(check_objects(objects_in(place.root))) == 6


def test_a_link_holds_what_retention_takes(tmp_path: Path, place: FolderPlace) -> None:
    staged(tmp_path, place)
    for path in (tmp_path / HOST).iterdir():
        if not path.name.startswith("."):
            shutil.rmtree(path)
    assert ship_once(tmp_path, place).sent == 6
    assert len(check_objects(objects_in(place.root))) == 6


def test_without_hard_links_there_are_copies(
    tmp_path: Path, place: FolderPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    staged(tmp_path, place)
    ship_once(tmp_path, place)
    assert len(check_objects(objects_in(place.root))) == 6


def test_what_a_kill_left_half_written_goes(tmp_path: Path, place: FolderPlace) -> None:
    spool = staged(tmp_path, place)
    left = [spool.folder / "parts/.x.json.partial", spool.folder / "blobs/.y.partial"]
    orphan = spool.folder / "blobs" / ("0" * 64)
    for path in (*left, orphan):
        path.write_bytes(b"half")
    assert ship_once(tmp_path, place).sent == 6
    assert not any(path.exists() for path in (*left, orphan))


@needs_root
def test_on_a_full_disk_what_is_staged_is_sent_and_the_rest_waits_in_the_store(
    small: Path, place: FolderPlace
) -> None:
    add_segments(small, 4)
    filler = small / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))
    shipped = ship_once(small, place)
    assert isinstance(shipped.error, StoreError)
    assert "No space left" in shipped.error.what
    filler.unlink()
    rest = ship_once(small, place)
    assert rest.error is None
    assert len(check_objects(objects_in(place.root))) == 4


@needs_root
def test_a_full_place_is_told_and_loses_nothing(tmp_path: Path, small: Path) -> None:
    place = FolderPlace(small)
    add_segments(tmp_path, 3, {1: "nic-reset"})
    (small / "filler").write_bytes(bytes(1 << 20))
    shipped = ship_once(tmp_path, place)
    assert shipped.error
    assert "No space left" in shipped.error.what
    assert shipped.waiting == 6 - shipped.sent
    (small / "filler").unlink()
    ship_once(tmp_path, place)
    assert len(check_objects(objects_in(small))) == 6
