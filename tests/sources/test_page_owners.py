from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from ctypes import addressof, c_char
from pathlib import Path

import pytest

from lab.faults.zombies import HIERARCHY, own_cgroup, why_not
from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.page_owners import PAGE_BYTES, PageOwners, open_page_owners

needs_pages = pytest.mark.skipif(
    why_not() is not None or not Path("/proc/kpagecgroup").exists(),
    reason=why_not() or "this kernel has no /proc/kpagecgroup",
)


@pytest.fixture
def owners() -> Iterator[PageOwners]:
    opened = open_page_owners(Host())
    assert opened.value, opened.reason
    with opened.value as found:
        yield found


def own_inode() -> int:
    return (HIERARCHY / own_cgroup().lstrip("/")).stat().st_ino


@needs_pages
def test_a_new_file_of_tmpfs_is_charged_to_our_own_cgroup(owners: PageOwners) -> None:
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        file.write(bytes(5 * PAGE_BYTES))
        file.flush()
        found = owners.of_file(file.fileno(), most_pages=100)
    assert list(found.values()) == [own_inode()] * 5


@needs_pages
def test_holes_are_not_filled_and_no_time_is_touched(owners: PageOwners) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.truncate(1000 * PAGE_BYTES)
        os.pwrite(file.fileno(), b"x", 0)
        os.pwrite(file.fileno(), b"x", 700 * PAGE_BYTES)
        os.utime(file.name, (1, 1))
        before = Path(file.name).stat()
        descriptor = os.open(file.name, os.O_RDONLY | os.O_NOATIME)
        try:
            found = owners.of_file(descriptor, most_pages=1000)
        finally:
            os.close(descriptor)
        assert len(found) == 2
        after = Path(file.name).stat()
        assert (after.st_blocks, after.st_atime_ns) == (before.st_blocks, before.st_atime_ns)


@needs_pages
def test_a_process_has_file_pages_and_anonymous_ones(owners: PageOwners, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(PAGE_BYTES))
    with (tmp_path / "file").open("r+b") as file:
        shared = mmap.mmap(file.fileno(), PAGE_BYTES)
    private = mmap.mmap(-1, 3 * PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    shared[0] = 1
    private[0] = private[2 * PAGE_BYTES] = 1
    pagemap = os.open("/proc/self/pagemap", os.O_RDONLY)
    try:
        found = [
            owners.of_mapping(pagemap, address_of(one), len(one) // PAGE_BYTES) for one in (shared, private)
        ]
    finally:
        os.close(pagemap)
    (file_pages, none), (nothing, anonymous) = found
    assert (len(file_pages), none, nothing, len(anonymous)) == (1, {}, {}, 2)
    assert set(anonymous.values()) == {own_inode()}


def address_of(mapped: mmap.mmap) -> int:
    return addressof(c_char.from_buffer(mapped))


def test_a_recorded_tree_has_no_pages(tmp_path: Path) -> None:
    assert open_page_owners(Host(tmp_path)).absence is Absence.NOT_SUPPORTED
