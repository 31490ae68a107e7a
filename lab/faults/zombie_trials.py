"""Whether this kernel keeps removed memory cgroups at all: a few are made, counted, and let go.

Linux 7.2 gives the pages of a removed cgroup to its parent, and no zombie stays for them. It is tried, and
not told by the release, because such changes are taken into older kernels too.

Needs    root, and the memory controller of cgroup v1
Costs    0.2 s, and 50 zombies for that time (measured on two cores)
"""

from __future__ import annotations

from functools import cache

from lab.faults.zombies import tracked, zombies
from lab.faults.zombies import why_not as why_none_made

COUNT = 50
FEWEST_KEPT = 20
TRIES = 3  # others on the machine may free theirs meanwhile


@cache
def why_not() -> str | None:
    """Why removed memory cgroups do not stay here, or None."""
    if reason := why_none_made():
        return reason
    if any(_kept() >= FEWEST_KEPT for _ in range(TRIES)):
        return None
    return "this kernel keeps no removed memory cgroup for the pages that are charged to it"


def _kept() -> int:
    before = tracked()
    with zombies(COUNT):
        return tracked() - before - 1  # and their parent, which lives
