"""SysV shared memory segments.

Reads    /proc/sysvipc/shm
Needs    nothing; it shows the segments of our own IPC namespace only
Costs    one read: 20 us

       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime ...
         0          4   600               1048576  2139  2139      0     0     0     0     0 1776243731 ...
"""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines


@dataclass(frozen=True, slots=True)
class SharedSegment:
    """One segment."""

    id: int
    size_bytes: int
    resident_bytes: int
    attached: int  # processes


def parse_shared_segments(text: str) -> tuple[SharedSegment, ...]:
    """The segments in a /proc/sysvipc/shm file."""
    head, *lines = (line.split() for line in whole_lines(text))
    rows = [dict(zip(head, map(int, line), strict=True)) for line in lines]
    return tuple(SharedSegment(row["shmid"], row["size"], row["rss"], row["nattch"]) for row in rows)


def read_shared_segments(host: Host) -> Reading[tuple[SharedSegment, ...]]:
    """All segments."""
    return host.read("/proc/sysvipc/shm").parsed(parse_shared_segments)
