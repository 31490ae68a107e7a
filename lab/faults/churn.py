"""Processes, memory cgroups and kernel log lines that come and go at a steady pace, each of them counted.

    python -m lab.faults.churn FOLDER RUN

A process called churn-PID starts processes and waits for them, makes memory cgroups and removes them, of
which some leak and are freed later, and writes numbered marks into the kernel log, one by one and in bursts.
When it is told to stop it frees all leaks, and says in FOLDER/churn.json what it has done.

Needs    root, the memory controller of cgroup v1, a writable /dev/kmsg
Costs    about 4 % of a core at the rates below (measured)
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.faults import kernel_lines, zombies
from lab.faults.kernel_lines import KMSG, LINES_PER_OPENING
from lab.faults.zombies import HIERARCHY, enter, leak_one, own_cgroup, tracked, wait_until_tracked

ROOT = Path(__file__).parents[2]
COUNTS = "churn.json"
STOP = b"stop\n"
STEP_SECONDS = 0.05
END_SECONDS = 60.0
CHILD = ("/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); done")  # about a millisecond
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

PROCESSES_PER_SECOND = 20
CLEAN_PER_SECOND = 5
LEAKS_PER_SECOND = 1
HELD_SECONDS = 10  # until a leak is freed: after three it is one, and the ledger is read every five
LINES_PER_SECOND = 4
BURST_LINES = 200
BURST_EVERY_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Churned:
    """What was done, to the last one."""

    pid: int
    processes: int
    children_ticks: int  # CPU time of all of them, as the kernel counts it for their parent
    clean: int  # cgroups
    leaked: int  # cgroups that were freed later
    marks: tuple[tuple[int, int], ...]  # CLOCK_MONOTONIC before and after each line was written


@dataclass(frozen=True, slots=True)
class Churn:
    """Churn that goes on."""

    process: subprocess.Popen[bytes]
    folder: Path
    run: str  # what the marks of this churn are known by: `necroscope mark: RUN NUMBER`

    def stop(self) -> Churned:
        """No more of it. What leaked is let go when its time has come; the parent cgroup stays."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(STOP)
        self.process.stdin.flush()
        if self.process.stdout.readline() != STOP:
            raise RuntimeError("the churn failed")
        done = json.loads((self.folder / COUNTS).read_text())
        return Churned(**{**done, "marks": tuple((before, after) for before, after in done["marks"])})


def comm_of(pid: int) -> str:
    """What the process of a churn calls itself: the ledger folds the numbers in paths, but not in names."""
    return f"churn-{pid}"


def why_not() -> str | None:
    """Why there can be no churn here, or None."""
    return zombies.why_not() or kernel_lines.why_not()


@contextmanager
def churning(folder: Path, run: str) -> Iterator[Churn]:
    """Churn until it is left; all that it made is gone in the end."""
    before = tracked()
    command = [sys.executable, "-m", "lab.faults.churn", str(folder), run]
    # In a session of its own: a Ctrl-C is for us, who then end it.
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )
    try:
        yield Churn(process, folder, run)
    finally:
        try:
            process.communicate(timeout=END_SECONDS)
        finally:
            process.kill()
            process.wait()
            _remove(*_places(process.pid))  # what one that was killed has left
            wait_until_tracked(before + 100)  # that caches keep


def _places(pid: int) -> tuple[Path, Path]:
    """The cgroup and the folder that the process of a churn makes."""
    return HIERARCHY / f"lab-soak-{pid}", Path(f"/dev/shm/necroscope-lab-churn-{pid}")


def _remove(parent: Path, pages: Path) -> None:
    shutil.rmtree(pages, ignore_errors=True)
    if parent.is_dir():
        for child in parent.iterdir():
            if child.is_dir():
                child.rmdir()
        parent.rmdir()


@dataclass(slots=True)
class _Done:
    """Counts of what this process has done."""

    run: str
    processes: int = 0
    clean: int = 0
    leaked: int = 0
    marks: list[tuple[int, int]] = field(default_factory=list)
    held: deque[tuple[float, Path]] = field(default_factory=deque)  # until when, by which page
    children: set[int] = field(default_factory=set)

    def as_json(self) -> dict[str, Any]:
        times = os.times()
        ticks = round((times.children_user + times.children_system) * TICKS_PER_SECOND)
        names = ("processes", "clean", "leaked", "marks")
        return {"pid": os.getpid(), "children_ticks": ticks, **{name: getattr(self, name) for name in names}}


def main() -> None:
    """Churn until told to stop; wait for the end; leave nothing."""
    folder, done = Path(sys.argv[1]), _Done(sys.argv[2])
    Path("/proc/self/comm").write_text(comm_of(os.getpid()))
    home = HIERARCHY / own_cgroup().lstrip("/")
    parent, pages = _places(os.getpid())
    pages.mkdir(mode=0o700)
    parent.mkdir()
    try:
        enter(parent)
        if _churn_until_told(done, parent, pages):
            _wait_for_children(done, 0)
            while done.held:
                time.sleep(STEP_SECONDS)
                _let_go(done, time.monotonic())
            enter(home)
            (folder / COUNTS).write_text(json.dumps(done.as_json()))
            os.write(1, STOP)
            os.read(0, 1)
    finally:
        _wait_for_children(done, 0)
        enter(home)
        _remove(parent, pages)


def _churn_until_told(done: _Done, parent: Path, pages: Path) -> bool:
    """Do what is due, step by step; True if told to stop, False if whoever started this has gone."""
    began = time.monotonic()
    while not select.select([0], [], [], STEP_SECONDS)[0]:
        now = time.monotonic()
        _step(done, now - began, parent, pages)
        _let_go(done, now)
        _wait_for_children(done, os.WNOHANG)
    return bool(os.read(0, len(STOP)))


def _step(done: _Done, seconds: float, parent: Path, pages: Path) -> None:
    """As much of everything as is due by now."""
    while done.processes < seconds * PROCESSES_PER_SECOND:
        done.children.add(os.posix_spawn(CHILD[0], CHILD, {}))
        done.processes += 1
    while done.clean < seconds * CLEAN_PER_SECOND:
        cgroup = parent / f"clean-{done.clean}"
        cgroup.mkdir()
        cgroup.rmdir()
        done.clean += 1
    while done.leaked < seconds * LEAKS_PER_SECOND:
        page = pages / str(done.leaked)
        leak_one(parent / f"leak-{done.leaked}", page, parent)
        done.held.append((time.monotonic() + HELD_SECONDS, page))
        done.leaked += 1
    bursts = int(seconds / BURST_EVERY_SECONDS)
    _write_marks(done, int(seconds * LINES_PER_SECOND) + bursts * BURST_LINES)


def _write_marks(done: _Done, until: int) -> None:
    """Number by number, each line a record of its own."""
    while len(done.marks) < until:
        log = os.open(KMSG, os.O_WRONLY)  # the kernel drops lines beyond some for each opening
        try:
            for number in range(len(done.marks), min(until, len(done.marks) + LINES_PER_OPENING)):
                line = f"<6>necroscope mark: {done.run} {number}\n".encode()
                before = time.monotonic_ns()
                os.write(log, line)
                done.marks.append((before, time.monotonic_ns()))
        finally:
            os.close(log)


def _let_go(done: _Done, now: float) -> None:
    while done.held and done.held[0][0] <= now:
        done.held.popleft()[1].unlink()


def _wait_for_children(done: _Done, options: int) -> None:
    done.children -= {pid for pid in done.children if os.waitpid(pid, options)[0]}


if __name__ == "__main__":
    main()
