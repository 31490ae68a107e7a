"""How cgroups are mounted, and which controllers are where.

Reads    /proc/self/mountinfo (/proc/1/mountinfo of another root), /sys/fs/cgroup, /proc/cgroups
Needs    nothing
Costs    some small reads: 0.5 ms
"""

from __future__ import annotations

from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.kernel import parse_command_line
from necroscope.inventory.sections.mounts import read_mountinfo
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.hierarchies import read_hierarchies
from necroscope.sources.host import whole_lines

PARAMETERS = (
    *("cgroup.memory", "cgroup_no_v1", "cgroup_disable", "cgroup_enable"),
    "systemd.unified_cgroup_hierarchy",
)
# Those of a v2 mount that change how the hierarchy works.
OPTIONS = {
    *("favordynmods", "memory_hugetlb_accounting", "memory_localevents", "memory_recursiveprot"),
    *("nsdelegate", "pids_localevents"),
}


def parse_switched_off(text: str) -> tuple[str, ...]:
    """The controllers in /proc/cgroups that are switched off."""
    rows = [line.split() for line in whole_lines(text) if not line.startswith("#")]
    return tuple(sorted(row[0] for row in rows if row[3] == "0"))


def read_cgroups(subject: Subject) -> Reading[Facts]:
    """The layout (v1, v2, hybrid), the controllers of each hierarchy, the options, what is switched off."""
    host = subject.host
    hierarchies = read_hierarchies(host)
    if hierarchies.value is None:
        return hierarchies.without_value()
    gathered = Gathered()
    v1 = [",".join(h.controllers) for h in hierarchies.value if h.version == 1]
    v2 = next((h.mount for h in hierarchies.value if h.version == 2), "")
    if v2:
        gathered.add_reading("v2/controllers", host.read(f"{v2}/cgroup.controllers"))
        gathered.add("v2/mount", v2)
    if v1:
        gathered.add("v1/controllers", " ".join(sorted(v1)))
    # systemd's own v1 hierarchy without a controller makes no v1 of v2.
    has_v1 = any(not name.startswith("name=") for name in v1)
    if v1 or v2:
        gathered.add("layout", "v1" if not v2 else "hybrid" if has_v1 else "v2")
    for mount in read_mountinfo(host).value or ():
        if mount.kind == "cgroup2":
            gathered.add("v2/options", " ".join(sorted({*mount.options} & OPTIONS)))
            break
    gathered.add_known(
        "switched-off", " ".join(host.read("/proc/cgroups").parsed(parse_switched_off).value or ())
    )
    parameters = host.read("/proc/cmdline", errors="replace").parsed(parse_command_line).value or {}
    for name in PARAMETERS:
        if name in parameters:
            gathered.add(f"command-line/{name}", parameters[name])
    return gathered.reading("no cgroup hierarchy is mounted")
