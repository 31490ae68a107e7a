"""What a run of the lab must leave as it was.

Reads    /proc, /sys/fs/cgroup, tracefs, /etc/systemd, /run, the temporary folders; asks systemd, if one runs
Needs    root, to see all of it
Costs    10 ms with 36 processes and 20 cgroups (measured)

Three kinds of things are told apart. *Objects* have names: cgroups, mounts, links, units. Other programs make
and remove such objects all the time; what the lab makes has a name of the lab. *Settings* have values that
nothing changes by itself: files of units, kernel settings, the cores of interrupts, the clock. *Processes*
are told by who started them.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.running.processes import Process, read_processes
from necroscope.sources.hierarchies import read_hierarchies
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import open_memory_cgroups

TRACING = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
DYNAMIC_EVENTS = ("dynamic_events", "kprobe_events", "uprobe_events", "synthetic_events")
UNITS = Path("/etc/systemd")
TEMPORARY = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
# Of these all files are looked at. Every login makes one: its name tells that it is somebody else's.
SHORT_LIVED = tuple(
    Path("/run", name)
    for name in ("necroscope", "necroscope-fixes", "netns", "systemd/system", "systemd/transient")
)
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
NAMES = ("lab-*", "necroscope*")
NOTE = "necroscope-lab-run-"  # begins the names of what runs note of themselves: see `killed_runs`
# What remedies and faults write to, and what would change what is measured after them.
KERNEL_SETTINGS = (
    "kernel/perf_event_paranoid",
    "kernel/printk",
    "kernel/printk_devkmsg",
    "kernel/sysrq",
    "net/core/dev_weight",
    "net/core/netdev_budget",
    "net/core/netdev_budget_usecs",
    "vm/nr_hugepages",
    "vm/overcommit_memory",
    "vm/swappiness",
    "vm/vfs_cache_pressure",
)


@dataclass(frozen=True, slots=True)
class MachineState:
    """One look at the machine."""

    objects: frozenset[str]  # "mount /x", "cgroup /sys/fs/cgroup/memory/x"
    settings: dict[str, str]
    processes: dict[int, Process]
    zombies: int | None  # where the kernel tells
    clock_offset_seconds: float  # of the wall clock to the one that nobody sets
    uptime_seconds: float

    def age_seconds(self, one: Process) -> float:
        """How long a process had run at this look."""
        return self.uptime_seconds - one.start_ticks / TICKS_PER_SECOND


def read_machine_state() -> MachineState:
    """Look at all of it."""
    host = Host()
    return MachineState(
        frozenset([*_cgroups(host), *_mounts(), *_links(), *_tracing(), *_units(), *_temporary()]),
        dict([*_unit_files(), *_kernel_settings(), *_interrupts(), *_handed_on(host)]),
        read_processes(),
        read_zombies(host),
        time.time() - time.monotonic(),
        time.clock_gettime(time.CLOCK_BOOTTIME),
    )


def read_zombies(host: Host) -> int | None:
    """The memory cgroups that are removed and not freed."""
    counts = open_memory_cgroups(host)().value
    return counts.memory.dying if counts else None


def _cgroups(host: Host) -> Iterator[str]:
    for hierarchy in read_hierarchies(host).value or ():
        for folder in _folders(Path(hierarchy.mount)):
            yield f"cgroup {folder}"


def _folders(top: Path) -> Iterator[Path]:
    with suppress(OSError):  # one that is removed while we look
        for path in top.iterdir():
            if path.is_dir() and not path.is_symlink():
                yield path
                yield from _folders(path)


def _mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, source, *_ = after.split(" ")
        yield f"mount {before.split(' ')[4]} ({kind} {source})"


def _links() -> Iterator[str]:
    for path in Path("/sys/class/net").iterdir():
        yield f"link {path.name}"


def _tracing() -> Iterator[str]:
    with suppress(PermissionError):  # without root, tracefs cannot be entered
        top = next((place for place in TRACING if (place / "events").is_dir()), None)
        if top:
            yield from _traced(top)


def _traced(top: Path) -> Iterator[str]:
    for path in (top / "instances").iterdir():
        yield f"tracefs instance {path.name}"
    for name in DYNAMIC_EVENTS:
        with suppress(OSError):
            for line in (top / name).read_text().splitlines():
                yield f"event in {name}: {line}"


def _units() -> Iterator[str]:
    if not Path("/run/systemd/system").is_dir():
        return
    command = ["systemctl", "list-units", "--all", "--plain", "--no-legend", "--no-pager"]
    for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
        name, loaded, active, *_ = line.split()
        yield f"unit {name} ({loaded}, {active})"


def _temporary() -> Iterator[str]:
    places = [(folder, name) for folder in TEMPORARY for name in NAMES]
    for folder, pattern in (*places, *((folder, "**/*") for folder in SHORT_LIVED)):
        with suppress(OSError):
            yield from (f"file {path}" for path in folder.glob(pattern) if not path.name.startswith(NOTE))


def _unit_files() -> Iterator[tuple[str, str]]:
    for path in UNITS.rglob("*"):
        with suppress(OSError):
            if path.is_symlink():
                yield f"link {path}", str(path.readlink())
            elif path.is_file():
                yield f"file {path}", path.read_text(errors="replace")


def _handed_on(host: Host) -> Iterator[tuple[str, str]]:
    """The controllers that the top of cgroup v2 hands on."""
    for hierarchy in read_hierarchies(host).value or ():
        with suppress(OSError):  # cgroup v1 has no such file
            path = Path(hierarchy.mount, "cgroup.subtree_control")
            yield f"controllers in {path}", " ".join(sorted(path.read_text().split()))


def _kernel_settings() -> Iterator[tuple[str, str]]:
    for name in KERNEL_SETTINGS:
        with suppress(OSError):
            yield f"setting {name.replace('/', '.')}", Path("/proc/sys", name).read_text().strip()


def _interrupts() -> Iterator[tuple[str, str]]:
    for path in Path("/proc/irq").glob("*/smp_affinity_list"):
        with suppress(OSError):
            yield f"cores of interrupt {path.parent.name}", path.read_text().strip()
