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
from necroscope.model.reading import Reading
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host, missing, whole_lines
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
            paths, _ = list_directories(host.path(mount))
        except OSError as error:
            return missing(mount, error)
        found = []
        for path in paths:
            folder = f"{mount}/{path}"
            if path and _has_quota(host, hierarchy.value, folder):
                stat = host.read(f"{folder}/cpu.stat").parsed(partial(parse_cpu_stat, f"/{path}"))
                # A cgroup may be removed between the listing and the read.
                if stat.value is not None:
                    found.append(stat.value)
        return Reading(tuple(found))

    return read


def _has_quota(host: Host, hierarchy: Hierarchy, folder: str) -> bool:
    if hierarchy.version == 2:
        return host.word(f"{folder}/cpu.max").split(" ")[0] not in ("max", "")
    return host.word(f"{folder}/cpu.cfs_quota_us") not in ("-1", "")


THROTTLING = Source(
    "throttling",
    open_throttling,
    pace_seconds=60,
    to_permit="run on the host, or in a container with the host's cgroup namespace and --root /host",
    to_support="the cpu controller with CONFIG_CFS_BANDWIDTH",
)
