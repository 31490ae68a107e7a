"""Leak real memory cgroups (cgroup v1), and let them go again.

Each cgroup is entered, a page of tmpfs (or of page cache, in a folder on a disk) is charged to it, it is left
and removed. The page keeps it in the kernel as a zombie until the file is unlinked.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HIERARCHY = Path("/sys/fs/cgroup/memory")


def why_not() -> str | None:
    """Why zombies cannot be made here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if not (HIERARCHY / "memory.stat").exists():
        return "needs the memory controller of cgroup v1 mounted at /sys/fs/cgroup/memory"
    return None


def tracked() -> int:
    """Memory cgroups that the kernel tracks, by its own word."""
    rows = (line.split() for line in Path("/proc/cgroups").read_text().splitlines())
    return next(int(row[2]) for row in rows if row[0] == "memory")


def in_use() -> int:
    """Memory cgroups that have a directory."""
    return sum(1 for _ in os.walk(HIERARCHY))


@contextmanager
def zombies(count: int, where: str = "/dev/shm") -> Iterator[None]:
    """Leak so many memory cgroups, held by files in a folder, and purge them at the end."""
    parent = HIERARCHY / f"necroscope-lab-{os.getpid()}"
    pages = Path(tempfile.mkdtemp(prefix="necroscope-lab-", dir=where))
    home = HIERARCHY / Path(own_cgroup().lstrip("/"))
    before = tracked()
    parent.mkdir()
    try:
        for number in range(count):
            leak_one(parent / str(number), pages / str(number), parent)
        enter(home)
        yield
    finally:
        enter(home)
        shutil.rmtree(pages)
        parent.rmdir()
        wait_until_tracked(before + count // 10)


def leak_one(cgroup: Path, page: Path, parent: Path) -> None:
    """Make, charge and remove one cgroup; its page keeps it."""
    cgroup.mkdir()
    enter(cgroup)
    page.write_bytes(b"x")
    enter(parent)
    cgroup.rmdir()


def enter(cgroup: Path) -> None:
    """Move this process into a cgroup."""
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))


def own_cgroup() -> str:
    """The memory cgroup that this process is in."""
    rows = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    return next(path for _, controllers, path in rows if "memory" in controllers.split(","))


def wait_until_tracked(level: int, seconds: float = 30) -> None:
    """Wait until no more than so many are tracked: freeing is asynchronous, on one kernel worker."""
    deadline = time.monotonic() + seconds
    while tracked() > level and time.monotonic() < deadline:
        time.sleep(0.1)
