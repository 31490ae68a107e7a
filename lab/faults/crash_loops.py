"""A service that fails again and again in a container's systemd, and leaks memory cgroups at every start.

Each start makes some memory cgroups below `ecs`, as an agent does for its tasks, and fails. What leaks is
charged with a page of tmpfs before it is removed; what does not leak is charged too, but its page is freed.

Needs    what `lab.machines.nspawn` needs, and the memory controller of cgroup v1
Costs    two starts a second, each a Python and its cgroups
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.faults import zombies
from lab.machines import nspawn

UNIT = "ecs.service"
COMM = "ecs-agent"  # what the process of the unit calls itself
RESTART_SECONDS = 0.4
FREED_SECONDS = 60.0
KEPT_BY_CACHES = 100  # charges that a core has taken in advance, and batches of pages

PYTHON = Path(sys.executable).resolve()  # a virtual environment below /tmp is hidden in the container
# systemd takes only files with the ending of a unit for one.
AGENT_FILE = "ecs-agent.py"
AGENT = """
import os, sys
count, leaks = int(sys.argv[1]), sys.argv[2] == "leak"
with open("/proc/self/comm", "w") as comm:
    comm.write("ecs-agent")
hierarchy, pages = "/sys/fs/cgroup/memory", "/dev/shm/ecs"
with open("/proc/self/cgroup") as rows:
    home = next(path for _, name, path in (row.strip().split(":", 2) for row in rows) if name == "memory")
os.makedirs(hierarchy + "/ecs", exist_ok=True)
os.makedirs(pages, exist_ok=True)

def enter(cgroup):
    with open(cgroup + "/cgroup.procs", "w") as members:
        members.write(str(os.getpid()))

for _ in range(count):
    task = os.urandom(16).hex()
    cgroup, page = f"{hierarchy}/ecs/{task}", f"{pages}/{task}"
    os.mkdir(cgroup)
    enter(cgroup)
    with open(page, "wb") as file:
        file.write(b"x")
    enter(hierarchy + home)
    if not leaks:
        os.unlink(page)
    os.rmdir(cgroup)
sys.exit("ecs-agent: could not register this instance")
"""


def why_not() -> str | None:
    """Why no such service can run here, or None."""
    return zombies.why_not() or nspawn.why_not()


def crash_loop(cgroups_per_start: int, *, leaks: bool) -> dict[str, str]:
    """The files of the service, for `Container(units=...)`."""
    what = "leak" if leaks else "free"
    return {
        UNIT: "\n".join(
            [
                "[Unit]",
                "Description=Amazon Elastic Container Service, as it fails where there is none",
                "StartLimitIntervalSec=0",
                "[Service]",
                f"ExecStart={PYTHON} -IS /etc/systemd/system/{AGENT_FILE} {cgroups_per_start} {what}",
                "Restart=on-failure",
                f"RestartSec={RESTART_SECONDS * 1000:.0f}ms",
                "",
            ]
        ),
        AGENT_FILE: AGENT,
    }


@dataclass(frozen=True, slots=True)
class CrashLoop:
    """A service that is failing now."""

    machine: nspawn.Container
    unit: str
    comm: str
    cgroups_per_start: int
    cgroup: Path  # the living parent of all that it makes

    def restarts(self) -> int:
        """How often systemd has started it again."""
        shown = self.machine.run(["systemctl", "show", "--property=NRestarts", "--value", self.unit])
        return int(shown.stdout)

    def stop(self) -> None:
        """End the loop; what has leaked stays."""
        self.machine.run(["systemctl", "stop", self.unit])

    def purge(self) -> None:
        """Unlink the pages, and wait until the kernel has freed the cgroups."""
        pages = list((self.machine.root / "dev/shm/ecs").iterdir())
        level = leaked() - len(pages)
        for page in pages:
            page.unlink()
        wait_until_freed(level)


@contextmanager
def crash_looping(
    cgroups_per_start: int = 100, *, leaks: bool = True, others: Mapping[str, str] | None = None
) -> Iterator[CrashLoop]:
    """A container in which the service fails twice a second, beside others; all is freed in the end."""
    services = {**(others or {}), **crash_loop(cgroups_per_start, leaks=leaks)}
    enabled = tuple(name for name in services if name.endswith(".service"))
    level = leaked()
    try:
        with nspawn.Container(units=services, enable=enabled) as machine:
            cgroup = nspawn.find_cgroups(os.getpid())["memory"] / machine.name / "ecs"
            yield CrashLoop(machine, UNIT, COMM, cgroups_per_start, cgroup)
    finally:
        wait_until_freed(level)  # the pages have ended with the container's /dev/shm


def leaked() -> int:
    """Zombie memory cgroups, by the kernel's own word."""
    return zombies.tracked() - zombies.in_use()


def wait_until_freed(level: int) -> None:
    """Wait until there are no more zombies than before, but for those that each core's caches keep."""
    deadline = time.monotonic() + FREED_SECONDS
    while leaked() > level + KEPT_BY_CACHES:
        if time.monotonic() > deadline:
            raise TimeoutError(f"there are {leaked()} zombie memory cgroups, and there were {level}")
        time.sleep(0.1)
