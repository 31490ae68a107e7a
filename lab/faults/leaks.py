"""Programs that leak memory cgroups among others that are removed and freed (cgroup v1).

    python -m lab.faults.leaks NAME LEAKS CLEAN [UNIT]

Each is a process of its own name and, where cgroup v2 is mounted beside, in a cgroup with the name of a unit.
It says what it has done, holds its leaks until its standard input ends, and then purges them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lab.faults.zombies import HIERARCHY, enter, leak_one, own_cgroup, tracked, wait_until_tracked

UNIFIED = Path("/sys/fs/cgroup/unified")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Leaker:
    """A program: its name, how many cgroups it leaks, and how many it makes and removes without a trace."""

    name: str
    leaks: int
    clean: int
    unit: str = ""


@contextmanager
def leakers(*programs: Leaker) -> Iterator[None]:
    """All of them at once; when this is entered they have leaked, and when it is left they have purged."""
    before = tracked()
    with ExitStack() as stack:
        running = [stack.enter_context(_running(program)) for program in programs]
        for process in running:
            assert process.stdout
            if process.stdout.readline() != b"leaked\n":
                raise RuntimeError(f"a leaker failed: {process.args!r}")
        yield
    wait_until_tracked(before)


@contextmanager
def _running(program: Leaker) -> Iterator[subprocess.Popen[bytes]]:
    words = [program.name, str(program.leaks), str(program.clean), program.unit]
    process = subprocess.Popen(
        [sys.executable, "-m", "lab.faults.leaks", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.communicate()


@contextmanager
def _in_unit(unit: str) -> Iterator[None]:
    """In a cgroup of v2 that has a unit's name, which is what tells a process's unit."""
    if not unit or not UNIFIED.is_dir():
        yield
        return
    folder = UNIFIED / unit
    folder.mkdir()
    try:
        enter(folder)
        yield
    finally:
        enter(UNIFIED)
        folder.rmdir()


def main() -> None:
    """Leak, wait, purge."""
    name, leaks, clean, unit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    Path("/proc/self/comm").write_text(name)
    home = HIERARCHY / own_cgroup().lstrip("/")
    parent = HIERARCHY / f"{name}-{os.getpid()}"
    pages = Path(tempfile.mkdtemp(prefix="necroscope-lab-", dir="/dev/shm"))
    with _in_unit(unit):
        parent.mkdir()
        try:
            for number in range(max(leaks, clean)):
                if number < leaks:
                    leak_one(parent / f"leak-{number}", pages / str(number), parent)
                if number < clean:
                    (parent / f"clean-{number}").mkdir()
                    (parent / f"clean-{number}").rmdir()
            enter(home)
            os.write(1, b"leaked\n")
            with suppress(KeyboardInterrupt):
                sys.stdin.buffer.read()
        finally:
            enter(home)
            shutil.rmtree(pages)
            parent.rmdir()


if __name__ == "__main__":
    main()
