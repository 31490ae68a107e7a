"""What holds zombie memory cgroups in the kernel, by name."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class HolderKind(enum.Enum):
    """What a holder is, in words."""

    TMPFS_FILE = "tmpfs file"
    OPEN_FILE = "deleted file that is open"  # memfd too, which never had a name
    SEGMENT = "SysV shared memory"
    MAPPED_FILE = "mapped file"
    PROCESS = "memory of a process that moved on"


@dataclass(frozen=True, slots=True)
class HoldingProcess:
    """A process that has the memory mapped or open."""

    pid: int
    comm: str
    unit: str  # empty where unknown


@dataclass(frozen=True, slots=True)
class ZombieHolder:
    """One thing that holds zombies, and what it holds of them at least."""

    kind: HolderKind
    name: str  # the path, the id of a segment, the name of a process
    cgroup: str  # the living parent of the zombies
    held_bytes: int  # that were seen: at most 64 MiB of each range are looked at
    is_sure: bool  # False: it may be the parent's own
    users: tuple[HoldingProcess, ...]  # the first of them
    has_more_users: bool = False  # than are named
    is_program: bool = False  # a program or a library, mapped to be run
