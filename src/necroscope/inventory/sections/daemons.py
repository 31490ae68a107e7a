"""Which daemons run that move a setting of the host: its clock, its interrupts.

Reads    /proc/PID/comm of all processes, and /proc/PID/cgroup of those that are such a daemon
Needs    a /proc that shows the processes of others
Costs    one read per process: 2 ms with 100

Only services of the host count: one in a pod or a container is not the host's, though it may do the same.
"""

from __future__ import annotations

import re

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host
from necroscope.sources.processes import process_ids

# As the kernel cuts their names: 15 letters.
CLOCK_SETTERS = frozenset(
    (
        *("chronyd", "ntpd", "ntpsec", "openntpd", "phc2sys", "ptp4l"),
        *("systemd-timesyn", "timemaster"),
    )
)
IRQBALANCE = "irqbalance"
# In the hierarchy that systemd keeps: v2, or its own of v1.
CGROUP = re.compile(r"^\d+:(?:name=systemd)?:(?P<path>.*)$", re.MULTILINE)
INIT = "/init.scope"
OF_HOST = re.compile(r"/system\.slice/(?:[^/]+\.slice/)*[^/]+\.service(?:/.*)?")


def read_daemons(host: Host) -> Reading[frozenset[str]]:
    """The names of those daemons that run as services of the host."""
    if not host.is_live:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="not running")
    if not host.shows_all_processes():
        return Reading(absence=Absence.NOT_PERMITTED, detail="/proc hides other users' processes")
    names = {pid: host.word(f"/proc/{pid}/comm") for pid in process_ids(host)}
    known = CLOCK_SETTERS | {IRQBALANCE}
    return Reading(frozenset(name for pid, name in names.items() if name in known and _is_of_host(host, pid)))


def _is_of_host(host: Host, pid: int) -> bool:
    first = _cgroup(host, 1)
    if not first.endswith(INIT):  # no systemd: there are no services to tell by
        return True
    return bool(OF_HOST.fullmatch(_cgroup(host, pid).removeprefix(first.removesuffix(INIT))))


def _cgroup(host: Host, pid: int) -> str:
    text = host.read(f"/proc/{pid}/cgroup", errors="replace").value or ""
    paths = [match["path"] for match in CGROUP.finditer(text)]
    return max(paths, key=len, default="")  # v1 has an empty one of v2 beside it
