"""A process that leaks memory cgroups at a steady rate until it is stopped (cgroup v1).

    python -m lab.faults.steady_leaks RATE [FOLDER]

It leaks so many a second until its standard input ends, and then purges them. Files in FOLDER hold them: in
/dev/shm until they are removed, on a disk until their page cache is given up.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.faults.zombies import HIERARCHY, enter, leak_one, own_cgroup, tracked, wait_until_tracked

ROOT = Path(__file__).parents[2]
KEPT_BY_CACHES = 100  # charges that a core has taken in advance, and batches of pages
STOP, PURGE = b"stop\n", b"purge\n"


@dataclass(slots=True)
class SteadyLeak:
    """A leak that goes on."""

    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """No more leaks; those there are stay."""
        self._tell(STOP)

    def purge(self) -> None:
        """No more leaks, and those there are are freed."""
        self._tell(PURGE)

    def _tell(self, word: bytes) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(word)
        self.process.stdin.flush()
        if self.process.stdout.readline() != word:
            raise RuntimeError("the leaker failed")


@contextmanager
def steady_leak(per_second: int, where: str = "/dev/shm") -> Iterator[SteadyLeak]:
    """Leak until it is left or stopped; all is freed in the end."""
    before = tracked()
    command = [sys.executable, "-m", "lab.faults.steady_leaks", str(per_second), where]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        yield SteadyLeak(process)
    finally:
        process.communicate()
        wait_until_tracked(before + KEPT_BY_CACHES)


def main() -> None:
    """Leak, stop, purge, as told."""
    per_second, where = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "/dev/shm"
    home = HIERARCHY / own_cgroup().lstrip("/")
    parent = HIERARCHY / f"steady-leak-{os.getpid()}"
    pages = Path(tempfile.mkdtemp(prefix="necroscope-lab-", dir=where))
    parent.mkdir()
    number, begin, is_leaking = 0, time.monotonic(), True
    try:
        while True:
            while is_leaking and number < (time.monotonic() - begin) * per_second:
                leak_one(parent / str(number), pages / str(number), parent)
                number += 1
            if select.select([0], [], [], 0.02 if is_leaking else None)[0]:
                word = os.read(0, 100)
                if not word:
                    return
                is_leaking = False
                if word == PURGE:
                    for page in pages.iterdir():
                        page.unlink()
                os.write(1, word)
    finally:
        enter(home)
        shutil.rmtree(pages)
        parent.rmdir()


if __name__ == "__main__":
    main()
