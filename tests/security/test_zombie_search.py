"""Attack: names, open files and mounts that lead the search for who holds zombies astray, or hold it up."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.faults.zombies import HIERARCHY, own_cgroup, why_not
from necroscope.model.reading import Absence
from necroscope.sources import tmpfs_files
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import open_memory_cgroups
from necroscope.sources.sockets import socket_holders
from necroscope.sources.sockets.namespace_ends import read_strays
from necroscope.sources.sockets.socket_holders import Holders
from necroscope.sources.throttling import open_throttling
from necroscope.sources.tmpfs_files import tmpfs_mounts
from necroscope.sources.zombie_holders import read_zombie_holders
from tests.sources.test_zombie_holders import SHARED, needs_pages, own_parent

SHARED_MEMORY = Path("/dev/shm")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who is attacked")
MANY_FILES = """
import os, resource, sys
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
for number in range(min(hard, 60_000) - 10):
    os.dup(0)
print(flush=True)
sys.stdin.read()
"""
FORGED = "\\0x\\n0000000000000000: 00000003 00000000 00000000 0001 03 1 /run/docker.sock"
BIND = f"""
import socket, sys
one = socket.socket(socket.AF_UNIX)
one.bind("{FORGED}")
print(flush=True)
sys.stdin.read()
"""


@contextmanager
def running(*words: str, **options: Any) -> Iterator[int]:
    """A process that has said it is ready."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    assert process.stdout and process.stdout.readline() == b"\n"
    try:
        yield process.pid
    finally:
        process.communicate()


@as_root
@needs_pages
def test_a_device_behind_the_name_of_a_deleted_file_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a watchdog starts it. An O_PATH descriptor needs no right to what it stands for."""
    device = SHARED_MEMORY / f"{uuid.uuid4()} (deleted)"
    os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    opened: list[bool] = []
    real = os.open

    def noted(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        descriptor = real(path, flags, *rest, **more)
        opened.append(not flags & os.O_PATH and stat.S_ISCHR(os.fstat(descriptor).st_mode))
        return descriptor

    held = os.open(device, os.O_PATH)
    try:
        program = "import sys; print(flush=True); sys.stdin.read()"
        with running(sys.executable, "-c", program, pass_fds=[held]):
            monkeypatch.setattr(os, "open", noted)
            assert read_zombie_holders(Host(), [own_parent(SHARED)], most_seconds=30).value
    finally:
        monkeypatch.undo()
        os.close(held)
        device.unlink()
    assert opened and not any(opened)


@as_root
@needs_pages
def test_many_open_files_do_not_take_more_time_than_there_is() -> None:
    with ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(running(sys.executable, "-c", MANY_FILES))
        found = read_zombie_holders(Host(), [own_parent(SHARED)], most_seconds=0.05).value
    assert found
    assert found.stopped_early
    assert found.seconds < 0.5


def test_many_open_files_do_not_take_the_time_of_the_search_for_sockets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket_holders, "MAX_PROCESS_SECONDS", 0.01)
    with running(sys.executable, "-c", MANY_FILES) as pid:
        holders = Holders(Host(), {pid: "", os.getpid(): ""})
        began = time.monotonic()
        assert holders.look_for([1], [pid]), "it may be the holder"
        assert time.monotonic() - began < 0.5
        assert "no time" in holders.look_at([pid])[pid].reason


def test_the_mounts_of_one_namespace_do_not_take_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "30 1 0:25 / {} rw - tmpfs tmpfs rw\n"
    folder = tmp_path / "proc/1"
    (folder / "ns").mkdir(parents=True)
    (folder / "ns/mnt").symlink_to("mnt:[1]")
    (folder / "mountinfo").write_text(
        line.format("/first") + line.replace("0:25", "0:26").format("/other") * 99
    )
    monkeypatch.setattr(tmpfs_files, "MAX_MOUNTINFO_CHARACTERS", len(line))
    found = [mount.name for mount in tmpfs_mounts(Host(tmp_path), time.monotonic() + 60)]
    assert found == ["/first"]
    assert list(tmpfs_mounts(Host(tmp_path), time.monotonic() - 1)) == []


@as_root
def test_a_name_with_a_line_end_is_not_the_socket_of_somebody_else() -> None:
    with running("unshare", "-Urn", sys.executable, "-c", BIND) as pid:
        namespace = str(Path(f"/proc/{pid}/ns/net").readlink())
        assert "0 /run/docker.sock" not in str(read_strays(Host(), namespace, [pid]))
        assert read_strays(Host(), namespace, [pid]).value == ()


@contextmanager
def nested_cgroups(depth: int) -> Iterator[None]:
    """Cgroups in each other, whose path is longer than any that can be opened."""
    name = uuid.uuid4().hex * 6
    folders = [os.open(HIERARCHY / own_cgroup().lstrip("/"), os.O_PATH)]
    try:
        for _ in range(depth):
            os.mkdir(name, dir_fd=folders[-1])
            folders.append(os.open(name, os.O_PATH, dir_fd=folders[-1]))
        yield
    finally:
        while len(folders) > 1:
            os.close(folders.pop())
            os.rmdir(name, dir_fd=folders[-1])
        os.close(folders[0])


@as_root
@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_cgroups_that_nobody_can_name_hide_no_others() -> None:
    count, throttling = open_memory_cgroups(Host()), open_throttling(Host())
    before = count().value
    with nested_cgroups(30):
        during, throttled = count().value, throttling()
    assert before and during
    assert during.memory.in_use - before.memory.in_use == 30
    assert throttled.absence is not Absence.BROKEN, throttled.reason
