"""Somebody swaps a folder of an image for a link out of it, again and again, while we read the image."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_tree import UnitTree

READS = 20_000


def test_a_read_of_an_image_never_leaves_it(tmp_path: Path) -> None:
    host = Host(image(tmp_path))
    with swapping(tmp_path / "image/etc"):
        seen = {host.read_regular("/etc/conf/word").value for _ in range(READS)}
    assert seen <= {"inside", None}
    assert "inside" in seen, "it was read now and then"


def test_a_unit_file_of_an_image_is_never_one_from_outside(tmp_path: Path) -> None:
    host = Host(image(tmp_path))
    seen = set()
    with swapping(tmp_path / "image/etc"):
        for _ in range(READS // 10):
            try:
                for assignment in UnitTree(host, (), ()).parse("/etc/conf/a.service", follows=True) or ():
                    seen.add(assignment.value)
            except (OSError, ValueError):
                pass
    assert seen == {"inside"}


def image(tmp_path: Path) -> Path:
    for place, word in (("image/etc/conf", "inside"), ("outside", "secret")):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "word").write_text(word)
        (folder / "a.service").write_text(f"[Unit]\nDescription={word}\n")
    (tmp_path / "image/etc/link").symlink_to(tmp_path / "outside")
    return tmp_path / "image"


@contextmanager
def swapping(etc: Path) -> Iterator[None]:
    """Let `conf` be a folder and a link out of the image by turns."""
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            os.rename(etc / "conf", etc / "kept")  # noqa: PTH104 - as fast as it goes
            os.rename(etc / "link", etc / "conf")  # noqa: PTH104
            os.rename(etc / "conf", etc / "link")  # noqa: PTH104
            os.rename(etc / "kept", etc / "conf")  # noqa: PTH104

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
