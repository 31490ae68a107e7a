"""The part of an agent's script that leaks: run inside the container, without anything of ours.

Each memory cgroup is charged with a page of page cache before it is removed: one of a file's hole on a disk,
which is read and never written. So it is clean, and `memory.force_empty` of the parent frees it.

Needs    the memory controller of cgroup v1, and a disk behind the folder
"""

from __future__ import annotations

from pathlib import Path

# Defines leak(count, folder); goes before the rest of a script.
LEAKING = """
import os, sys, time
with open("/proc/self/comm", "w") as comm:
    comm.write("ecs-agent")
hierarchy = "/sys/fs/cgroup/memory"

def cgroup_of(process):
    with open(f"/proc/{process}/cgroup") as rows:
        return next(path for _, name, path in (row.strip().split(":", 2) for row in rows) if name == "memory")

def enter(cgroup):
    with open(cgroup + "/cgroup.procs", "w") as members:
        members.write(str(os.getpid()))

def leak(count, folder):
    home = hierarchy + cgroup_of("self")
    parent = hierarchy + cgroup_of(1).removesuffix("/init.scope") + "/ecs"
    os.makedirs(parent, exist_ok=True)
    holes = os.open(folder + "/holes", os.O_RDONLY)
    os.posix_fadvise(holes, 0, 0, os.POSIX_FADV_RANDOM)  # one page a read
    for _ in range(count):
        task = os.urandom(16).hex()
        os.mkdir(f"{parent}/{task}")
        enter(f"{parent}/{task}")
        os.pread(holes, 1, int(task[:7], 16) * 4096)
        enter(home)
        os.rmdir(f"{parent}/{task}")
"""


def make_holes(folder: Path) -> None:
    """Make the file whose pages the script reads: all hole, and no room on the disk."""
    with (folder / "holes").open("wb") as holes:
        holes.truncate(16**7 * 4096)
