"""Where the cgroup hierarchies are mounted.

Reads    /proc/self/mountinfo (/proc/1/mountinfo of another root)
Needs    nothing
Costs    one read: 0.1 ms, once

cgroup v1 has one hierarchy per controller or pair of them, v2 one for all, and a hybrid host both:
only this file tells. `tmpfs` on /sys/fs/cgroup says neither v1 nor v2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing, only_line, whole_lines

# The root directory of a real cgroup hierarchy, not of a cgroup namespace, has this inode number.
ROOT_INODE = 1

# Options of a v1 mount that are neither a controller nor the name of a hierarchy.
NOT_CONTROLLERS = re.compile(
    r"rw|ro|xattr|noprefix|clone_children|cpuset_v2_mode|favordynmods|seclabel|release_agent=.*"
)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup hierarchy."""

    version: Literal[1, 2]
    mount: str  # as the machine itself calls it
    controllers: tuple[str, ...]  # of v1: from the mount options

    @property
    def name(self) -> str:
        """For people: `memory (v1)`, `unified (v2)`."""
        return "unified (v2)" if self.version == 2 else f"{','.join(self.controllers)} (v1)"


def parse_mountinfo(text: str) -> tuple[Hierarchy, ...]:
    """The cgroup mounts in a mountinfo file, each hierarchy once."""
    found: dict[tuple[int, tuple[str, ...]], Hierarchy] = {}
    for line in whole_lines(text):
        before, separator, after = line.partition(" - ")
        if not separator:
            raise ValueError("a mountinfo line without its separator")
        kind, _, options = after.split(" ", 2)
        # Blanks and backslashes are written as octal numbers.
        mount = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split(" ")[4])
        if kind == "cgroup2":
            found.setdefault((2, ()), Hierarchy(2, mount, ()))
        elif kind == "cgroup":
            names = tuple(o for o in options.split(",") if not NOT_CONTROLLERS.fullmatch(o))
            found.setdefault((1, names), Hierarchy(1, mount, names))
    return tuple(found.values())


def read_hierarchies(host: Host) -> Reading[tuple[Hierarchy, ...]]:
    """All cgroup hierarchies of the host."""
    # Behind another root, `self` is a process of ours, not of that machine.
    own = "/proc/self/mountinfo" if str(host.root) == "/" else "/proc/1/mountinfo"
    # A mount point may have any bytes but zero in its name.
    return host.read(own, errors="surrogateescape").parsed(parse_mountinfo)


def find_hierarchy(host: Host, controller: str) -> Reading[Hierarchy]:
    """The hierarchy that a controller is attached to, refused where only a part of it is visible."""
    hierarchies = read_hierarchies(host)
    if hierarchies.value is None:
        return hierarchies.without_value()
    for hierarchy in sorted(hierarchies.value, key=lambda h: h.version):
        controllers = _controllers(host, hierarchy)
        if controllers.value is None:
            return controllers.without_value()
        if controller in controllers.value:
            return refuse_namespaced(host, hierarchy)
    return Reading(
        absence=Absence.SWITCHED_OFF, detail=f"no mounted cgroup hierarchy has the {controller} controller"
    )


def refuse_namespaced(host: Host, hierarchy: Hierarchy) -> Reading[Hierarchy]:
    """The hierarchy, if the mount shows its real root.

    In a cgroup namespace the kernel's counts are those of the whole machine while the directories
    are a part: subtracting the two would invent zombies.
    """
    try:
        inode = host.path(hierarchy.mount).stat().st_ino
    except OSError as error:
        return missing(hierarchy.mount, error)
    if host.is_live and inode != ROOT_INODE:
        detail = f"{hierarchy.mount} shows a part of the hierarchy only (a cgroup namespace)"
        return Reading(absence=Absence.NOT_PERMITTED, detail=detail)
    return Reading(hierarchy)


def _controllers(host: Host, hierarchy: Hierarchy) -> Reading[tuple[str, ...]]:
    if hierarchy.version == 1:
        return Reading(hierarchy.controllers)
    names = host.read(f"{hierarchy.mount}/cgroup.controllers").parsed(only_line)
    return names.parsed(lambda line: tuple(line.split()))
