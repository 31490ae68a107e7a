"""A service that fails again and again, and has leaked memory cgroups that can be purged.

Its first start leaks as many as a node has after weeks, each later one a few more, all below one parent.
Each is charged with a page of page cache before it is removed, of a file on a disk: clean, so that
`memory.force_empty` of the parent frees it, and so does `sync` with drop_caches.

    with leaking_unit(at_first=20_000, per_start=50) as leak:
        leak.machine.run(["necroscope", "zombies", "--json"])

The container sees the cgroups of the whole machine, and what runs in it may purge them.

Needs    what `lab.machines.nspawn` needs, the memory controller of cgroup v1, and a disk behind /var/tmp
Costs    4 s for 20,000 zombies on two cores (measured), then one start a second
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.faults import crash_loops
from lab.faults.crash_loops import PYTHON, UNIT, leaked, wait_until_freed
from lab.faults.leaking_scripts import LEAKING, make_holes
from lab.faults.zombies import HIERARCHY
from lab.machines.nspawn import Container
from lab.recorders import wait_until

DISK = Path("/var/tmp")
NO_DISKS = ("tmpfs", "ramfs", "overlayfs")  # their pages stay, or are another file system's
LEAK_SECONDS = 120.0
RESTART_SECONDS = 1

AGENT_FILE = "ecs-agent.py"  # systemd takes only files with the ending of a unit for one
AGENT = (
    LEAKING
    + """
at_first, per_start, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
begun = folder + "/begun"
count = per_start if os.path.exists(begun) else at_first
open(begun, "w").close()
leak(count, folder)
open(folder + "/leaked", "w").close()
sys.exit("ecs-agent: could not register this instance")
"""
)


def why_not() -> str | None:
    """Why no such service can run here, or None."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(DISK)], capture_output=True, text=True, check=False)
    if kind.stdout.strip() in NO_DISKS:
        return f"{DISK} is on no disk ({kind.stdout.strip()})"
    return crash_loops.why_not()


@dataclass(frozen=True, slots=True)
class LeakingUnit:
    """A service that is failing now, and has leaked."""

    machine: Container
    unit: str
    cgroup: Path  # the living parent of all that it has leaked
    at_first: int
    per_start: int


@contextmanager
def leaking_unit(
    at_first: int = 20_000,
    per_start: int = 50,
    *,
    others: Mapping[str, str] | None = None,
    binds: Sequence[Path] = (),
    private_network: bool = True,
) -> Iterator[LeakingUnit]:
    """A container in which the service has leaked and goes on failing; all is freed in the end."""
    level = leaked()
    folder = Path(tempfile.mkdtemp(prefix="lab-leaking-", dir=DISK))
    try:
        make_holes(folder)
        units = {**(others or {}), **leaking_files(folder, at_first, per_start)}
        enabled = tuple(name for name in units if name.endswith(".service"))
        with Container(
            units=units,
            enable=enabled,
            binds=(folder, *binds),
            private_network=private_network,
            whole_machine=True,
        ) as machine:
            wait_until((folder / "leaked").exists, LEAK_SECONDS, "the service has leaked")
            cgroup = HIERARCHY / machine.name / "payload/ecs"
            yield LeakingUnit(machine, UNIT, cgroup, at_first, per_start)
    finally:
        shutil.rmtree(folder)  # and the pages with it
        wait_until_freed(level)


def leaking_files(folder: Path, at_first: int, per_start: int) -> dict[str, str]:
    """The files of the service, for `Container(units=...)`."""
    return {
        UNIT: "\n".join(
            [
                "[Unit]",
                "Description=Amazon Elastic Container Service, as it fails where there is none",
                "StartLimitIntervalSec=0",
                "[Service]",
                f"ExecStart={PYTHON} -IS /etc/systemd/system/{AGENT_FILE} {at_first} {per_start} {folder}",
                "Restart=on-failure",
                f"RestartSec={RESTART_SECONDS}",
                "[Install]",
                "WantedBy=multi-user.target",
                "",
            ]
        ),
        AGENT_FILE: AGENT,
    }
