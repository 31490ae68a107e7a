"""The numbers by which zombies are purged, from rules/purge.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from necroscope.sources.host import Host, parse_core_list


@cache
def limit(name: str) -> float:
    """One of the numbers."""
    rows = tomllib.loads(files("necroscope.remedies").joinpath("rules/purge.toml").read_text())
    return float(rows[name]["value"])


def noise_floor(host: Host) -> int:
    """As many zombies are left on any machine with so many cores, and are not worth a purge."""
    cores = host.read("/sys/devices/system/cpu/online").parsed(parse_core_list).value or (0,)
    return int(limit("floor") + limit("floor_each_core") * len(cores))
