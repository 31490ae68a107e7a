"""Copy what our sources read from this machine into a tree that `--root` accepts.

    python3 record.py TREE [--live N] [--zombies N]

To be run as root, in a guest: README.md says how the trees here were made. What this kernel lacks is left
out, so that it is missing in the tree as well. `--live` and `--zombies` first make that many memory cgroups
of either kind. A tree does not carry inode numbers: the root of a hierarchy cannot be told by them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

FILES = {  # folder: names in it
    "/etc": "os-release",
    "/proc": "cgroups cmdline interrupts loadavg meminfo schedstat softirqs stat uptime version vmstat",
    "/proc/net": "softnet_stat",
    "/proc/pressure": "*",
    "/proc/sys/kernel": "hostname osrelease ostype random/boot_id",
    "/proc/1": "mountinfo",
    "/proc/irq/*": "effective_affinity_list smp_affinity_list",
    "/sys/devices/system/cpu": "online possible present",
    "/sys/class/net/*": "address carrier mtu operstate",
    "/sys/class/net/*/device": "driver driver/module/initstate driver/module/version msi_irqs/*",
    "/sys/class/net/*/device/..": "msi_irqs/*",  # a virtio NIC leaves them to its PCI device
    "/sys/class/net/*/queues/tx-*": "tx_timeout xps_cpus",
    "/sys/fs/cgroup": "cpu cpuacct net_cls net_prio",  # links to the hierarchy that two controllers share
}
PROCESS_FILES = "cgroup comm schedstat stat"
CGROUP_FILES = (
    "cgroup.controllers cgroup.stat cpu.cfs_period_us cpu.cfs_quota_us cpu.max cpu.stat memory.stat "
    "cgroup.procs"  # is in every cgroup, and git keeps no empty folder
)
LOG_RECORDS = 150


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--live", type=int, default=0, metavar="N")
    parser.add_argument("--zombies", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    make_cgroups(arguments.live, arguments.zombies)
    for path in paths():
        copy(path, arguments.tree)
    log = arguments.tree / "dev/kmsg"
    log.parent.mkdir()
    log.write_bytes(b"".join(list(read_kernel_log())[-LOG_RECORDS:]))


def make_cgroups(live: int, zombies: int) -> None:
    """Make memory cgroups, in each of which a process leaves a tmpfs file, and remove those to be zombies."""
    memory = hierarchy_of("memory")
    for name in [*(f"live-{n}" for n in range(live)), *(f"zombie-{n}" for n in range(zombies))]:
        (memory / name).mkdir()
        if (child := os.fork()) == 0:
            (memory / name / "cgroup.procs").write_text("0")
            Path("/dev/shm", name).write_text(name)
            os._exit(0)
        os.waitpid(child, 0)
        if name.startswith("zombie"):
            (memory / name).rmdir()
    if live:  # one of them may use half a core
        limited = hierarchy_of("cpu") / "live-0"
        limited.mkdir(exist_ok=True)
        quota = "cpu.max" if (limited / "cpu.max").exists() else "cpu.cfs_quota_us"
        (limited / quota).write_text("50000")


def hierarchy_of(controller: str) -> Path:
    """Where the controller is: its v1 mount, or that of v2."""
    v1 = [folder for folder, options in cgroup_mounts() if controller in options]
    return v1[0] if v1 else next(folder for folder, _ in cgroup_mounts())


def cgroup_mounts() -> Iterator[tuple[Path, list[str]]]:
    """Every hierarchy: where it is, and its mount options, among them the controllers of a v1 one."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            yield Path(folder), options.split(",")


def paths() -> Iterator[Path]:
    """All files to copy, as far as they exist."""
    for folder, names in FILES.items():
        yield from matches(folder, names)
    for comm in Path("/proc").glob("[0-9]*/comm"):
        if comm.parent.name in ("1", "2") or comm.read_text().startswith("ksoftirqd/"):
            yield from matches(str(comm.parent), PROCESS_FILES)
    for mount, _ in cgroup_mounts():
        for cgroup, _, _ in os.walk(mount):
            yield from matches(cgroup, CGROUP_FILES)


def matches(folder: str, names: str) -> Iterator[Path]:
    for name in names.split():
        yield from Path("/").glob(f"{folder}/{name}".lstrip("/"))


def copy(path: Path, tree: Path) -> None:
    """Copy one file, or the folder itself, to the same place in the tree, with the links on the way to it."""
    here = Path("/")
    for part in path.parts[1:]:
        here = here.parent if part == ".." else here / part
        while here.is_symlink():
            target = here.parent / here.readlink()
            copy_link(here, tree)
            here = Path(os.path.normpath(target))
    place = tree / here.relative_to("/")
    (place if here.is_dir() else place.parent).mkdir(parents=True, exist_ok=True)
    if here.is_dir():
        return
    try:
        place.write_bytes(here.read_bytes())
    except OSError:  # there but not readable, like the carrier of an interface that is down
        place.unlink(missing_ok=True)


def copy_link(link: Path, tree: Path) -> None:
    place = tree / link.relative_to("/")
    if not place.is_symlink():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(os.path.normpath(link.parent / link.readlink()), link.parent))


def read_kernel_log() -> Iterator[bytes]:
    """The log as /dev/kmsg gives it: one record a read, until a read would have to wait."""
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            yield os.read(log, 8192)
    except BlockingIOError:
        return
    finally:
        os.close(log)


if __name__ == "__main__":
    main()
