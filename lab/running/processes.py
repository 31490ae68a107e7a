"""The processes of this machine, and which of them a run of the lab has started.

A process is of the run if it has the run's mark in its environment, descends from the runner, or has the
run's folder in its command line. What a container starts has no mark, but descends from the runner as long as
the container does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "NECROSCOPE_LAB_RUN"
KTHREADD = 2
END_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")  # in front of a command: it is killed when we are
DEAD = "Z"  # and nobody has waited for it
LAB_NAME = re.compile(r"(?:necroscope|lab)-[\w.-]+")


@dataclass(frozen=True, slots=True)
class Process:
    """One process; its number and start together are its own for as long as the machine is up."""

    pid: int
    start_ticks: int
    parent: int
    comm: str
    state: str
    command: str

    @property
    def key(self) -> tuple[int, int]:
        """What tells it from a later one of the same number."""
        return self.pid, self.start_ticks

    def __str__(self) -> str:
        # Not its command line: that may hold what is nobody's business, and a person can look.
        return f"process {self.pid} ({self.comm}{'' if self.command else ', dead and not waited for'})"


Processes = Mapping[int, Process]


def read_processes() -> dict[int, Process]:
    """All of them but kernel threads; those that poll a NIC's queue are kept."""
    found = (read_process(int(path.name)) for path in Path("/proc").glob("[0-9]*"))
    return {one.pid: one for one in found if one and _counts(one)}


def read_process(pid: int) -> Process | None:
    """One of them, or None when it has gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        command = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return None
    head, _, tail = stat.rpartition(")")
    fields = tail.split()
    return Process(pid, int(fields[19]), int(fields[1]), head.partition("(")[2], fields[0], command)


def own_mark() -> str:
    """What marks the processes of a run by this process."""
    one = read_process(os.getpid())
    return f"{os.getpid()}-{one.start_ticks if one else 0}"


@contextmanager
def marked(mark: str) -> Iterator[None]:
    """Mark what is started from now on."""
    os.environ[MARK] = mark
    try:
        yield
    finally:
        del os.environ[MARK]


def mark_environment() -> dict[str, str]:
    """The mark, for a process that is started with an environment of its own."""
    return {MARK: os.environ[MARK]} if MARK in os.environ else {}


def mark_of(pid: int) -> str:
    """The mark that a process was started with; empty if it has none."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0")
        return next((word.partition("=")[2] for word in words if word.startswith(f"{MARK}=")), "")
    return ""


def is_alive(mark: str) -> bool:
    """Whether the runner that gave a mark is still there."""
    pid, _, start_ticks = mark.partition("-")
    one = read_process(int(pid)) if pid.isdigit() else None
    return one is not None and str(one.start_ticks) == start_ticks


def is_of_run(one: Process, processes: Processes, mark: str, folder: Path) -> bool:
    """Whether a run has started it."""
    is_below = any(above.pid == os.getpid() for above in ancestors(one.parent, processes))
    return mark_of(one.pid) == mark or str(folder) in one.command or is_below


def others_than_run(before: Processes, after: Processes, mark: str) -> dict[int, Process]:
    """The living processes that are surely somebody else's.

    They were there before the run, or they or one above them are marked by another living runner or were
    there before. What is above ourselves says nothing: it takes in orphans, ours too.
    """
    above_us = {one.pid for one in ancestors(os.getpid(), after)}
    earlier = {one.key for pid, one in before.items() if pid != os.getpid()}

    def is_others(one: Process) -> bool:
        other = mark_of(one.pid)
        is_earlier = one.key in earlier and one.pid not in above_us
        return other != mark and (is_earlier or bool(other and is_alive(other)))

    return {
        pid: one
        for pid, one in after.items()
        if one.state != DEAD and (one.key in earlier or any(map(is_others, ancestors(pid, after))))
    }


def lab_names_in_use(processes: Processes) -> set[str]:
    """The names of the lab that processes have in their cgroups, command lines and open files.

    And the one that a ledger gives its tracefs instance: while the kernel makes and removes that, which takes
    it a while, no file in it is open.
    """
    names: set[str] = set()
    for pid, one in processes.items():
        if one.state == DEAD:
            continue
        names.update((f"necroscope-{pid}", *LAB_NAME.findall(one.command)))
        with suppress(OSError):
            names.update(LAB_NAME.findall(Path(f"/proc/{pid}/cgroup").read_text()))
        for link in (Path(f"/proc/{pid}/cwd"), *_listed(Path(f"/proc/{pid}/fd"))):
            with suppress(OSError):
                names.update(LAB_NAME.findall(str(link.readlink())))
    return names


def ancestors(pid: int, processes: Processes) -> Iterator[Process]:
    """A process, its parent, and so on."""
    while one := processes.get(pid):
        yield one
        pid = one.parent


def _counts(one: Process) -> bool:
    return KTHREADD not in {one.parent, one.pid} or one.comm.startswith("napi/")


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):
        return list(folder.iterdir())
    return []
