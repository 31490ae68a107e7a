"""Somebody swaps a folder of an image for a link out of it, again and again, while we read the image."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from necroscope.sources.host import Host
from necroscope.sources.packaging import rpm
from necroscope.sources.packaging.dpkg import find_owners
from necroscope.sources.systemd.unit_tree import UnitTree

READS = 20_000
MOST_SECONDS = 30.0


def test_a_read_of_an_image_never_leaves_it(tmp_path: Path) -> None:
    host = Host(image(tmp_path))
    seen: set[str] = set()
    with swapping(tmp_path / "image/etc"):
        for _ in enough_reads(seen, READS):
            if (word := host.read_regular("/etc/conf/word").value) is not None:
                seen.add(word)
    assert seen == {"inside"}


def test_a_unit_file_of_an_image_is_never_one_from_outside(tmp_path: Path) -> None:
    host = Host(image(tmp_path))
    seen: set[str] = set()
    with swapping(tmp_path / "image/etc"):
        for _ in enough_reads(seen, READS // 10):
            try:
                for assignment in UnitTree(host, (), ()).parse("/etc/conf/a.service", follows=True) or ():
                    seen.add(assignment.value)
            except (OSError, ValueError):
                pass
    assert seen == {"inside"}


def test_packages_of_an_image_are_never_those_from_outside(tmp_path: Path) -> None:
    host = Host(image(tmp_path))
    for place, word in (("image/var/lib/dpkg/info", "inside"), ("secret", "secret")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.list").write_text(f"/bin/{word}\n")
        (tmp_path / place / "rpmdb.sqlite").write_text(word)
    (tmp_path / "image/var/lib/dpkg/link").symlink_to(tmp_path / "secret")
    (tmp_path / "image/var/lib/rpm").symlink_to("dpkg/info")
    paths: set[str] = set()
    copies: set[str] = set()
    with swapping(tmp_path / "image/var/lib/dpkg", "info"):
        for _ in enough_reads(paths, READS // 20):
            paths |= {*(find_owners(host, ["/bin/inside", "/bin/secret"]).value or ())}
        for _ in enough_reads(copies, READS // 20):
            # rpm sees nothing but this copy.
            with suppress(OSError, ValueError), rpm.copied(host, "/var/lib/rpm/rpmdb.sqlite") as folder:
                copies.add((folder / "rpmdb.sqlite").read_text())
    assert (paths, copies) == ({"/bin/inside"}, {"inside"})


def enough_reads(seen: set[str], count: int) -> Iterator[None]:
    """Go on until something was seen: on a busy machine a folder may be away at each of many reads."""
    end = time.monotonic() + MOST_SECONDS
    while count > 0 or (not seen and time.monotonic() < end):
        count -= 1
        yield


def image(tmp_path: Path) -> Path:
    for place, word in (("image/etc/conf", "inside"), ("outside", "secret")):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "word").write_text(word)
        (folder / "a.service").write_text(f"[Unit]\nDescription={word}\n")
    (tmp_path / "image/etc/link").symlink_to(tmp_path / "outside")
    return tmp_path / "image"


@contextmanager
def swapping(etc: Path, name: str = "conf") -> Iterator[None]:
    """Let it be a folder and a link out of the image by turns."""
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            os.rename(etc / name, etc / "kept")  # noqa: PTH104 - as fast as it goes
            os.rename(etc / "link", etc / name)  # noqa: PTH104
            os.rename(etc / name, etc / "link")  # noqa: PTH104
            os.rename(etc / "kept", etc / name)  # noqa: PTH104

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
