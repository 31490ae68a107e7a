"""Who is named is shown on real zombies in tests/real/test_purge.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.faults.zombies import HIERARCHY, own_cgroup, why_not
from necroscope.model.reading import Absence
from necroscope.model.zombie_holder import HolderKind
from necroscope.sources.host import Host
from necroscope.sources.zombie_holders import MOST_USERS, read_zombie_holders
from necroscope.sources.zombie_parents import KINDS, ZombieParent
from necroscope.sources.zombie_pins import PinnedMemory

needs_pages = pytest.mark.skipif(
    why_not() is not None or not Path("/proc/kpagecgroup").exists(),
    reason=why_not() or "this kernel has no /proc/kpagecgroup",
)
PAGE_CACHE, SHARED, ANONYMOUS = KINDS
HOLD = """
import os, sys
descriptor = os.memfd_create("held-by-test")
os.write(descriptor, bytes(3 * 4096))
print(flush=True)
sys.stdin.read()
"""


def own_parent(*kinds: str) -> ZombieParent:
    """Our own cgroup as if it were the parent of zombies, whose own memory can be told."""
    path = own_cgroup()
    own = PinnedMemory(0, 0, 1 << 30, None, None)
    return ZombieParent(path, (HIERARCHY / path.lstrip("/")).stat().st_ino, None, None, kinds, own)


@contextmanager
def holding_process() -> Iterator[int]:
    """The number of a process of our cgroup that has a file without a name."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"\n"
    try:
        yield process.pid
    finally:
        process.communicate()


@needs_pages
def test_a_file_without_a_name_and_the_memory_of_a_process_are_told() -> None:
    with holding_process() as pid:
        found = read_zombie_holders(Host(), [own_parent(SHARED, ANONYMOUS)], most_seconds=30).value
    assert found and not found.stopped_early
    (memfd,) = [one for one in found.holders if one.name == "/memfd:held-by-test"]
    assert (memfd.kind, memfd.held_bytes, memfd.is_sure) == (HolderKind.OPEN_FILE, 3 * 4096, True)
    assert [user.pid for user in memfd.users] == [pid]
    processes = {one.users[0].pid: one for one in found.holders if one.kind is HolderKind.PROCESS}
    assert processes[pid].held_bytes > 1 << 20
    assert not processes[pid].is_sure, "the cgroup has anonymous memory of its own"
    assert os.getpid() not in processes, "nobody is to end the very program that looks"


@needs_pages
@pytest.mark.parametrize("count", [1, MOST_USERS + 1])
def test_a_program_is_told_as_one_and_whether_more_run_it_than_are_named(count: int) -> None:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    program = folder / "held-by-test"
    shutil.copy("/bin/sleep", program)
    running = [subprocess.Popen([program, "60"]) for _ in range(count)]
    try:
        found = read_zombie_holders(Host(), [own_parent(PAGE_CACHE)], most_seconds=30).value
        assert found
        (holder,) = [one for one in found.holders if one.name == str(program)]
        assert holder.kind is HolderKind.MAPPED_FILE and holder.is_program
        assert holder.has_more_users is (count > MOST_USERS)
        assert [user.pid for user in holder.users] == sorted(one.pid for one in running)[:MOST_USERS]
    finally:
        for process in running:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


@needs_pages
def test_it_stops_when_its_time_is_up_and_says_so() -> None:
    found = read_zombie_holders(Host(), [own_parent(SHARED, ANONYMOUS)], most_seconds=0).value
    assert found and found.stopped_early


@needs_pages
def test_without_parents_nothing_is_looked_for() -> None:
    found = read_zombie_holders(Host(), []).value
    assert found and found.holders == () and not found.stopped_early


def test_a_recorded_tree_names_nobody(tmp_path: Path) -> None:
    assert read_zombie_holders(Host(tmp_path), []).absence is Absence.NOT_SUPPORTED
