"""CPU throttling of every cgroup that has a CPU quota.

Reads    cpu.stat and cpu.max (v2), cpu.stat and cpu.cfs_quota_us (v1)
Needs    nothing
Costs    one or two reads per live cgroup: about 10 ms for 500; read at the beginning and the end of a look

    nr_periods 1200
    nr_throttled 310
    throttled_usec 48210933
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from necroscope._native import list_directories
from necroscope.model.reading import Absence, Reading
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host, missing, only_line, whole_lines
from necroscope.sources.source import Read, Source


@dataclass(frozen=True, slots=True)
class CgroupThrottling:
    """Quota periods of one cgroup since it was made."""

    path: str
    periods: int
    throttled_periods: int
    throttled_seconds: float


Throttling = tuple[CgroupThrottling, ...]


def parse_cpu_stat(path: str, text: str) -> CgroupThrottling:
    """Parse cpu.stat of either version."""
    stat = {name: int(value) for name, value in (line.split() for line in whole_lines(text))}
    seconds = stat["throttled_usec"] / 1e6 if "throttled_usec" in stat else stat["throttled_time"] / 1e9
    return CgroupThrottling(path, stat["nr_periods"], stat["nr_throttled"], seconds)


def open_throttling(host: Host) -> Read[Throttling]:
    """A reader of the throttling of all cgroups with a quota."""
    hierarchy = find_hierarchy(host, "cpu")

    def read() -> Reading[Throttling]:
        if hierarchy.value is None:
            return hierarchy.without_value()
        mount = hierarchy.value.mount
        try:
            paths, _, _ = list_directories(host.path(mount))
        except OSError as error:
            return missing(mount, error)
        cgroups = [_read_cgroup(host, hierarchy.value, path) for path in paths if path]
        # Without a quota, without the controller, or removed since the listing: all that is as it should be.
        refused = [c for c in cgroups if c.absence in (Absence.NOT_PERMITTED, Absence.BROKEN)]
        if refused:
            return refused[0].without_value()
        return Reading(tuple(cgroup.value for cgroup in cgroups if cgroup.value))

    return read


def _read_cgroup(host: Host, hierarchy: Hierarchy, path: str) -> Reading[CgroupThrottling]:
    folder = f"{hierarchy.mount}/{path}"
    file = "cpu.max" if hierarchy.version == 2 else "cpu.cfs_quota_us"
    quota = host.read(f"{folder}/{file}").parsed(only_line)
    if quota.value is None:
        return quota.without_value()
    if quota.value.split(" ")[0] in ("max", "-1"):
        return Reading(absence=Absence.SWITCHED_OFF, detail=f"{folder} has no quota")
    return host.read(f"{folder}/cpu.stat").parsed(partial(parse_cpu_stat, f"/{path}"))


THROTTLING = Source(
    "throttling",
    open_throttling,
    pace_seconds=60,
    to_permit="run on the host, or in a container with the host's cgroup namespace and --root /host",
    to_support="the cpu controller with CONFIG_CFS_BANDWIDTH",
)
