"""Zombie memory cgroups (v1), each held by one page of a kind of our choice.

    python -m lab.faults.zombie_holds KIND COUNT PARENT FOLDER

A process of its own makes them below a parent cgroup, says so, holds them until its standard input ends, and
lets them go. It is never in the parent itself, so that the parent has no memory of its own.

    page-cache  a file on a disk                  let go by reclaim, dropping caches, or removing the file
    mapped      the same, mapped by the process   let go by reclaim, or when the process ends
    tmpfs       a file in /dev/shm                let go by removing it
    memfd       a file without a name             let go when the process ends
    segment     SysV shared memory                let go by ipcrm
    attached    the same, attached                let go by ipcrm, when the process has ended as well
    moved       memory of the process, which has moved on; let go when it ends
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lab.faults.zombies import HIERARCHY, enter, own_cgroup, tracked, wait_until_tracked

ROOT = Path(__file__).parents[2]
ON_DISK, IN_MEMORY = "/var/tmp", "/dev/shm"
PAGE_BYTES = mmap.PAGESIZE
IPC_CREAT, IPC_RMID = 0o1000, 0
NOT_LEFT_OVER = 60  # zombies that others make and free meanwhile

Hold = Callable[[int, Path], object]


@dataclass(frozen=True, slots=True)
class HeldZombies:
    """Zombies of one parent, and who holds them."""

    parent: Path
    folder: Path  # of the files
    pid: int

    @property
    def cgroup(self) -> str:
        """The parent, as the kernel calls it."""
        return f"/{self.parent.relative_to(HIERARCHY)}"


@contextmanager
def held_zombies(kind: str, count: int, parent: Path | None = None) -> Iterator[HeldZombies]:
    """So many zombies below a new parent, or a given one; freed at the end."""
    before = tracked()
    where = ON_DISK if kind in ("page-cache", "mapped") else IN_MEMORY
    folder = Path(tempfile.mkdtemp(prefix="necroscope-lab-", dir=where))
    place = parent or HIERARCHY / folder.name
    if not parent:
        place.mkdir()
    command = [sys.executable, "-m", "lab.faults.zombie_holds", kind, str(count), str(place), str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        if not process.stdout or process.stdout.readline() != b"held\n":
            raise RuntimeError(f"no zombies: {command}")
        yield HeldZombies(place, folder, process.pid)
    finally:
        process.communicate()
        shutil.rmtree(folder)
        if not parent:
            place.rmdir()
        wait_until_tracked(before + NOT_LEFT_OVER)


def main() -> None:
    """Make, hold, let go."""
    kind, count, parent, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    home = HIERARCHY / own_cgroup().lstrip("/")
    holds: list[object] = []
    for number in range(count):
        cgroup = parent / f"{kind}-{number}"
        cgroup.mkdir()
        enter(cgroup)
        holds.append(HOLDS[kind](number, folder))
        enter(home)
        cgroup.rmdir()
    os.sync()  # as some time later: dirty pages cannot be let go
    os.write(1, b"held\n")
    with suppress(KeyboardInterrupt):
        sys.stdin.buffer.read()
    for hold in holds if kind in ("segment", "attached") else ():
        _libc.shmctl(hold, IPC_RMID, None)


def _in_file(number: int, folder: Path) -> None:
    (folder / str(number)).write_bytes(bytes(PAGE_BYTES))


def _in_mapped_file(number: int, folder: Path) -> mmap.mmap:
    _in_file(number, folder)
    with (folder / str(number)).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), PAGE_BYTES, prot=mmap.PROT_READ)
    assert mapped[0] == 0  # now it is in our page table
    return mapped


def _in_memfd(number: int, _folder: Path) -> int:
    descriptor = os.memfd_create(f"lab-{number}")
    os.write(descriptor, bytes(PAGE_BYTES))
    return descriptor


def _in_segment(_number: int, _folder: Path) -> int:
    segment, address = _attach()
    _libc.shmdt(address)
    return segment


def _in_attached_segment(_number: int, _folder: Path) -> int:
    return _attach()[0]


def _attach() -> tuple[int, ctypes.c_void_p]:
    segment = _libc.shmget(0, PAGE_BYTES, IPC_CREAT | 0o600)
    address = ctypes.c_void_p(_libc.shmat(segment, None, 0))
    ctypes.memset(address, 1, PAGE_BYTES)
    return segment, address


def _in_own_memory(_number: int, _folder: Path) -> mmap.mmap:
    page = mmap.mmap(-1, PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page[0] = 1
    return page


HOLDS: dict[str, Hold] = {
    "page-cache": _in_file,
    "mapped": _in_mapped_file,
    "tmpfs": _in_file,
    "memfd": _in_memfd,
    "segment": _in_segment,
    "attached": _in_attached_segment,
    "moved": _in_own_memory,
}

_libc = ctypes.CDLL(None)
_libc.shmat.restype = ctypes.c_void_p

if __name__ == "__main__":
    main()
