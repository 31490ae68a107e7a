"""One reading of the memory cgroups at 0, 10,000 and 50,000 real zombies, and with 2,000 live cgroups.

Limit: 20 ms at 50,000 zombies. Peer: counting the directories with find(1), as people do by hand.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import best_of, report
from lab.faults.zombies import HIERARCHY, why_not, zombies
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import open_memory_cgroups

LIMIT_SECONDS = 0.020


@contextmanager
def live_cgroups(count: int) -> Iterator[None]:
    """So many cgroups with a directory."""
    parent = HIERARCHY / "necroscope-bench"
    children = [parent, *(parent / str(number) for number in range(count))]
    for child in children:
        child.mkdir()
    try:
        yield
    finally:
        for child in reversed(children):
            child.rmdir()


def main() -> None:
    """Measure and print."""
    if reason := why_not():
        print(f"not measured: {reason}")
        return
    read = open_memory_cgroups(Host())
    for count in (0, 10_000, 50_000):
        with zombies(count):
            report(f"memory cgroups with {count:,} zombies", best_of(read), "limit", LIMIT_SECONDS)
    with live_cgroups(2_000):
        ours = best_of(read)
        find = ["find", str(Path(HIERARCHY)), "-type", "d"]
        theirs = best_of(lambda: subprocess.run(find, check=True, capture_output=True))
        report("memory cgroups with 2,000 live ones", ours, "find -type d", theirs)


if __name__ == "__main__":
    main()
