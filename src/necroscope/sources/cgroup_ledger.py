"""Who makes and removes memory cgroups, and which of them the kernel keeps: the ledger.

Reads    the tracepoints cgroup_mkdir, cgroup_rmdir and cgroup_release, in a tracefs instance of its own
Needs    root, tracefs, Linux 4.15 or newer, the host's PID namespace
Costs    nothing while no cgroup comes or goes; at 1,000 a second 1.4 % of a core (measured). 8 MiB of
         kernel memory, or 256 KiB a core if that is more. At most 16 MiB of ours: 100,000 cgroups are
         remembered, the rest is counted

A thread of the Rust core wakes when a cgroup is made or removed and looks at once who did it. A process
that has ended by then has the name that the kernel remembers, or none, and no unit. The instance is called
necroscope-PID and removed in the end; one that a killed process left is removed by the next start.

    runc-21032   [001] 23717.691209: cgroup_mkdir: root=4 id=34518371 level=1 path=/docker/0b5c
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from necroscope._native import CgroupTrace
from necroscope.model.reading import Absence, Reading
from necroscope.sources.hierarchies import find_hierarchy
from necroscope.sources.host import Host, absence_of, whole_lines
from necroscope.sources.process_units import find_top, parse_unit, unit_in_path
from necroscope.sources.source import Read, Source

SETTLED_SECONDS = 3  # a cgroup that was removed takes some time to be freed; later than this it is a zombie
GROUPS_KEPT = 64
LEAKS_KEPT = 256
TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")


class LedgerGroup(NamedTuple):
    """Cgroups of one path pattern, made by the same program of the same unit and removed by the same.

    The counts are since the ledger began; `dying` and `zombies` are now. One that is still in use counts in
    the group that has no remover, and goes over to that of its remover later.
    """

    pattern: str  # the former path, digits and hashes folded into #
    creator: str  # the name of the process; empty: it was gone, or it was before the ledger
    creator_cgroup: str  # that the creator itself was in
    creator_unit: str  # its systemd unit; empty where unknown
    remover: str
    remover_unit: str
    made: int
    removed: int
    released: int
    dying: int  # removed and not released
    zombies: int  # of these, for SETTLED_SECONDS or longer
    example: str  # the newest path


class Leak(NamedTuple):
    """One zombie."""

    id: int
    path: str  # that it had
    made_ns: int | None  # CLOCK_MONOTONIC; None: before the ledger began
    removed_ns: int
    creator: str
    creator_pid: int | None
    creator_cgroup: str
    creator_unit: str
    remover: str
    remover_pid: int | None
    remover_unit: str


@dataclass(frozen=True, slots=True)
class CgroupLedger:
    """The groups with most zombies, what leaked since the reading before, and what is not known.

    Zombies from before it began are not in it: they are what the kernel counts beyond these.
    """

    began_ns: int
    lost: int  # events that the kernel dropped because we did not read in time
    untracked: int  # zombies that are counted in their group only: too many at once to remember each
    freed_older: int  # releases of cgroups that it did not know
    dying: int
    zombies: int
    groups: tuple[LedgerGroup, ...]
    leaks: tuple[Leak, ...]  # became zombies since the reading before; the newest, if there are many
    freed: tuple[int, ...]  # ids of zombies that were released since


def parse_hierarchy_number(text: str) -> int:
    """The number of the memory hierarchy in /proc/cgroups: what the tracepoints call root."""
    numbers = {row[0]: int(row[1]) for row in map(str.split, whole_lines(text)[1:])}
    return numbers["memory"]


def parse_memory_cgroup(text: str) -> str:
    """The memory cgroup in a /proc/PID/cgroup file."""
    paths = dict(line.split(":", 2)[1:] for line in whole_lines(text))
    return next((path for names, path in paths.items() if "memory" in names.split(",")), paths.get("", ""))


def owner_of(group: LedgerGroup) -> str:
    """Who has to answer for a group: the unit that the path names, else that of its creator, or its creator.

    Empty where none of them is known.
    """
    return unit_in_path(group.pattern) or group.creator_unit or group.creator


def leaked(groups: Iterable[LedgerGroup]) -> int:
    """How many cgroups of some groups stay, also of those that were removed too recently to be zombies.

    Of these it takes the part that was not freed of all whose fate is known. So it can be compared with what
    is counted at the same moment, and is 0 where all that is made is freed.
    """
    zombies = released = unsettled = 0
    for group in groups:
        zombies += group.zombies
        released += group.released
        unsettled += group.dying - group.zombies
    return zombies + round(unsettled * zombies / (zombies + released)) if zombies else 0


def older_zombies(dying: int, ledger: CgroupLedger) -> int:
    """Zombies from before the ledger began: what the kernel counts as dying beyond those that it knows."""
    return max(dying - ledger.dying, 0)


def open_cgroup_ledger(host: Host) -> Read[CgroupLedger]:
    """A reader of the ledger, which begins now and ends with the reader."""
    trace = _open_trace(host)
    if trace.value is None:
        refusal: Reading[CgroupLedger] = trace.without_value()
        return lambda: refusal
    following, began_ns, top = trace.value, time.monotonic_ns(), find_top(host)

    def read() -> Reading[CgroupLedger]:
        try:
            return Reading(_take(following, began_ns, top))
        except OSError as error:
            return Reading(absence=absence_of(error), detail=str(error))

    # Also when the program ends: nothing else would remove the instance.
    weakref.finalize(read, following.close)
    return read


def _open_trace(host: Host) -> Reading[CgroupTrace]:
    if not host.is_live:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="a recorded tree has no tracepoints")
    if host.word("/proc/2/comm") != "kthreadd":
        # The tracepoints give numbers of the host's namespace: here they would be other processes.
        return Reading(absence=Absence.NOT_PERMITTED, detail="/proc shows a part of the processes only")
    number = _hierarchy_number(host)
    tracefs = _find_tracefs(host)
    if number.value is None or tracefs.value is None:
        return number.without_value() if number.value is None else tracefs.without_value()
    try:
        return Reading(CgroupTrace(host.path(tracefs.value), host.path("/proc"), number.value))
    except OSError as error:
        return Reading(absence=absence_of(error), detail=str(error))


def _hierarchy_number(host: Host) -> Reading[int]:
    """What the tracepoints call the root of the memory hierarchy."""
    hierarchy = find_hierarchy(host, "memory")
    if hierarchy.value is None:
        return hierarchy.without_value()
    if hierarchy.value.version == 2:
        return Reading(0)  # that of v2 is the first one that a kernel makes
    return host.read("/proc/cgroups").parsed(parse_hierarchy_number)


def _find_tracefs(host: Host) -> Reading[str]:
    readings = {folder: host.names(f"{folder}/events/cgroup") for folder in TRACEFS}
    for folder, tracepoints in readings.items():
        if tracepoints.value is not None:
            return Reading(folder)
    return readings[TRACEFS[0]].without_value()


def _take(trace: CgroupTrace, began_ns: int, top: str) -> CgroupLedger:
    settled_ns = SETTLED_SECONDS * 10**9
    counts, groups, leaks, freed = trace.take(time.monotonic_ns(), settled_ns, GROUPS_KEPT, LEAKS_KEPT)
    return CgroupLedger(
        began_ns,
        *counts,
        groups=_merged(
            LedgerGroup(
                row[0], row[1], *_place(row[2], top), row[3], _place(row[4], top)[1], *row[5:10], row[10]
            )
            for row in groups
        ),
        leaks=tuple(
            Leak(*row[:6], *_place(row[6], top), row[7], row[8], _place(row[9], top)[1]) for row in leaks
        ),
        freed=tuple(freed),
    )


def _merged(groups: Iterable[LedgerGroup]) -> tuple[LedgerGroup, ...]:
    """One group where the cgroups of the removers were different, and their units are not."""
    merged: dict[tuple[str, ...], LedgerGroup] = {}
    for group in groups:
        key = tuple(group[:6])
        before = merged.get(key)
        merged[key] = group if before is None else _sum(before, group)
    return tuple(merged.values())


def _sum(one: LedgerGroup, other: LedgerGroup) -> LedgerGroup:
    return one._replace(
        made=one.made + other.made,
        removed=one.removed + other.removed,
        released=one.released + other.released,
        dying=one.dying + other.dying,
        zombies=one.zombies + other.zombies,
    )


@lru_cache(maxsize=2048)  # of which there are a thousand in the core at most
def _place(text: str, top: str) -> tuple[str, str]:
    """The memory cgroup and the unit of a process."""
    cgroups = Reading(text)
    unit = cgroups.parsed(lambda said: parse_unit(said, top)).value
    return cgroups.parsed(parse_memory_cgroup).value or "", unit or ""


CGROUP_LEDGER = Source(
    "cgroup-ledger",
    open_cgroup_ledger,
    pace_seconds=5,
    is_since_last=True,
    to_permit="root, a writable tracefs, and the host's PID and cgroup namespaces; until then zombies are"
    " counted and not named",
    to_support="tracefs (mount -t tracefs tracefs /sys/kernel/tracing) and Linux 4.15 or newer; until then"
    " zombies are counted and not named",
)
