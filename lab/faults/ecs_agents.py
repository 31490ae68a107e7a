"""The agent of a base image, enabled by default, on a node where it has no cluster: it fails and leaks.

`ecs.service` is configured as the real one is (Type=simple, Restart=on-failure, RestartSec=10s, a pre-start).
What it starts is a script that leaks on purpose: hundreds of memory cgroups a start instead of one. A drop-in
beside the unit says what else the lab changes: it is started again after 0.4 s instead of 10, keeps off the
core that is to fail, and has no network (PrivateNetwork=yes), so that nothing of this machine is asked. The
script does ask for the control plane, is told that the network is unreachable, and gives up.

Each cgroup that leaks is charged with a page of page cache before it is removed, of a file on a disk: clean,
so that `memory.force_empty` of the parent frees it.

    with ecs_agent(off_core=0) as agent:
        agent.give_up()  # until then its first start tries on: quiet seconds

Needs    what `lab.faults.leaking_units` needs
Costs    0.4 s to boot; then about 750 zombies a second and a tenth of a core (measured on two cores)
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.faults.crash_loops import COMM, PYTHON, UNIT, leaked, wait_until_freed
from lab.faults.leaking_scripts import LEAKING, make_holes
from lab.faults.leaking_units import DISK, why_not
from lab.faults.zombies import HIERARCHY
from lab.machines.nspawn import Container

__all__ = ["COMM", "EcsAgent", "ecs_agent", "why_not"]

RESTART_SECONDS = 0.4
CGROUPS_PER_START = 700
CONTROL_PLANE = "169.254.169.254"  # the agent's first question on a real instance is: who am I?

AGENT_FILE = "amazon-ecs-init.py"  # systemd takes only files with the ending of a unit for one
AGENT = (
    LEAKING
    + """
import socket
count, folder = int(sys.argv[2]), sys.argv[3]
if sys.argv[1] == "pre-start":
    sys.exit(0 if os.path.isdir(folder) else "ecs-agent: no data folder")

def ask_control_plane():
    while True:
        try:
            return socket.create_connection((CONTROL_PLANE, 80), timeout=0.2)
        except OSError as error:
            if os.path.exists(folder + "/gives-up"):
                return error
        time.sleep(0.2)

error = ask_control_plane()
leak(count, folder)
sys.exit(f"ecs-agent: could not register this instance: {error}")
"""
)


@dataclass(frozen=True, slots=True)
class EcsAgent:
    """A node with the agent on it."""

    machine: Container
    unit: str
    cgroup: Path  # the living parent of all that it leaks
    cgroups_per_start: int
    folder: Path

    def give_up(self) -> None:
        """From now on a start that does not reach the control plane ends, and leaks."""
        (self.folder / "gives-up").touch()

    def restarts(self) -> int:
        """How often systemd has started it again."""
        shown = self.machine.run(["systemctl", "show", "--property=NRestarts", "--value", self.unit])
        return int(shown.stdout)


@contextmanager
def ecs_agent(
    off_core: int, *, cgroups_per_start: int = CGROUPS_PER_START, binds: Sequence[Path] = ()
) -> Iterator[EcsAgent]:
    """A container whose systemd starts the agent; what it leaks is freed in the end."""
    level = leaked()
    folder = Path(tempfile.mkdtemp(prefix="lab-ecs-", dir=DISK))
    try:
        make_holes(folder)
        with Container(
            units=_files(folder, off_core, cgroups_per_start),
            enable=(UNIT,),
            binds=(folder, *binds),
            private_network=False,  # the network of the node, whose queue is to stall
            whole_machine=True,
        ) as machine:
            cgroup = HIERARCHY / machine.name / "payload/ecs"
            yield EcsAgent(machine, UNIT, cgroup, cgroups_per_start, folder)
    finally:
        shutil.rmtree(folder)  # and the pages with it
        wait_until_freed(level)


def _files(folder: Path, off_core: int, cgroups_per_start: int) -> dict[str, str]:
    program = f"{PYTHON} -IS /etc/systemd/system/{AGENT_FILE}"
    arguments = f"{cgroups_per_start} {folder}"
    unit = [
        "[Unit]",
        "Description=Amazon Elastic Container Service - container agent",
        "[Service]",
        "Type=simple",
        "Restart=on-failure",
        "RestartPreventExitStatus=5",
        "RestartSec=10s",
        f"ExecStartPre={program} pre-start {arguments}",
        f"ExecStart={program} start {arguments}",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
    ]
    others = sorted(os.sched_getaffinity(0) - {off_core})
    drop_in = [
        "# What the lab changes: faster than life, away from the core that is to fail, no network.",
        "[Unit]",
        "StartLimitIntervalSec=0",
        "[Service]",
        f"RestartSec={RESTART_SECONDS * 1000:.0f}ms",
        f"CPUAffinity={' '.join(map(str, others))}",
        "PrivateNetwork=yes",
        "",
    ]
    agent = AGENT.replace("CONTROL_PLANE", repr(CONTROL_PLANE))
    return {UNIT: "\n".join(unit), f"{UNIT}.d/lab.conf": "\n".join(drop_in), AGENT_FILE: agent}
