"""Which units run, what runs in them, and which of them a stop takes along.

Reads    org.freedesktop.systemd1 over D-Bus: the system bus, else /run/systemd/private; /proc/PID/exe
Needs    systemd as the host's first process
Costs    one list of all loaded units, about 10 us each; for those that are stopped along, and for their
         programs, 0.3 ms each

Nothing is loaded by asking: a unit that is not loaded is not told.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from necroscope.model.reading import Reading
from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

ON = frozenset({"active", "activating", "reloading", "refreshing", "maintenance"})
# A stop is passed on to these. PropagatesStopTo= came with systemd 249.
STOPPED_ALONG = ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf", "PropagatesStopTo")
# What keeps a unit with StopWhenUnneeded= running, from its side and from theirs. Upholds= came with 249.
NEEDS = ("Requires", "Requisite", "BindsTo", "Wants", "Upholds")
NEEDED_BY = ("RequiredBy", "RequisiteOf", "BoundBy", "WantedBy", "UpheldBy")


@dataclass(frozen=True, slots=True)
class UnitActivity:
    """One loaded unit, and what it does now."""

    name: str
    load_state: str
    active_state: str
    sub_state: str
    job: str  # what is about to be done with it: start, stop, ...; empty where nothing is
    path: str  # of its D-Bus object

    @property
    def is_on(self) -> bool:
        """Whether it runs or will by itself: a crash loop is on at every moment of it."""
        is_ending_by_itself = self.active_state == "deactivating" and self.job != "stop"
        is_about_to = "auto-restart" in self.sub_state or self.job in ("start", "restart")
        return self.active_state in ON or is_ending_by_itself or is_about_to

    @property
    def is_settled(self) -> bool:
        """Whether nothing is being done with it."""
        return not self.job and self.active_state in ("active", "inactive", "failed")


def list_activity(bus: SystemdBus) -> dict[str, UnitActivity]:
    """All loaded units, by their own names."""
    (listed,) = bus.call("ListUnitsByPatterns", "asas", ([], []))
    return {row[0]: _activity(row) for row in listed}


def read_activity(host: Host) -> Reading[Mapping[str, UnitActivity]]:
    """The same, on a connection of its own."""
    return ask_systemd(host, list_activity)


def find_stopped_along(bus: SystemdBus, names: Collection[str]) -> tuple[str, ...]:
    """Units that are on and would be stopped together with these, by name, without these."""
    units = list_activity(bus)
    gone = set(names)
    pending = gone
    while pending:
        gone |= _passed_on_to(bus, units, gone)
        pending = _no_longer_needed(bus, units, gone)
        gone |= pending
    return tuple(sorted(name for name in gone.difference(names) if name in units and units[name].is_on))


def list_dependencies(
    bus: SystemdBus, units: Mapping[str, UnitActivity], names: Collection[str], keys: Collection[str]
) -> set[str]:
    """All units that these name in any of these properties."""
    paths = [units[name].path for name in sorted(names) if name in units]
    lists = bus.properties([(path, "Unit", key) for path in paths for key in keys])
    return {name for listed in lists for name in listed or ()}


def _passed_on_to(bus: SystemdBus, units: Mapping[str, UnitActivity], names: Collection[str]) -> set[str]:
    """These, and those that their stop is passed on to."""
    seen = set(names)
    pending = seen
    while pending:
        pending = list_dependencies(bus, units, pending, STOPPED_ALONG) - seen
        seen = seen | pending
    return seen


def _no_longer_needed(bus: SystemdBus, units: Mapping[str, UnitActivity], gone: set[str]) -> set[str]:
    """Units with StopWhenUnneeded= that only these have kept running."""
    running = {name for name, unit in units.items() if unit.is_on}
    kept = sorted((list_dependencies(bus, units, gone & running, NEEDS) & running) - gone)
    answers = bus.properties([(units[name].path, "Unit", "StopWhenUnneeded") for name in kept])
    return {
        name
        for name, is_bound in zip(kept, answers, strict=True)
        if is_bound and not (list_dependencies(bus, units, [name], NEEDED_BY) & running) - gone
    }


def read_outdated(host: Host) -> Reading[tuple[str, ...]]:
    """Loaded units whose files have changed since: what a daemon-reload would load along."""

    def ask(bus: SystemdBus) -> tuple[str, ...]:
        units = list(list_activity(bus).values())
        answers = bus.properties([(unit.path, "Unit", "NeedDaemonReload") for unit in units])
        return tuple(sorted(unit.name for unit, is_old in zip(units, answers, strict=True) if is_old))

    return ask_systemd(host, ask)


def read_unit_programs(host: Host, names: Collection[str]) -> Reading[dict[str, tuple[str, ...]]]:
    """Command lines and the files that are run, of the processes in these units' own cgroups.

    That is what really runs in them, whatever their files say: a script may start anything. It needs systemd
    235 and, for the files behind links, root.
    """

    def ask(bus: SystemdBus) -> dict[str, tuple[str, ...]]:
        return {name: tuple(dict.fromkeys(_programs(host, bus, name))) for name in names}

    return ask_systemd(host, ask)


def _programs(host: Host, bus: SystemdBus, name: str) -> Iterator[str]:
    (processes,) = bus.call("GetUnitProcesses", "s", (name,))
    for cgroup, pid, command in processes:
        # What it has put into cgroups below, as a container's processes, is its guest.
        if cgroup.rpartition("/")[2] == name:
            yield command
            yield _program_file(host, pid)


def _program_file(host: Host, pid: int) -> str:
    try:
        # Not host.path(), which would look for it in our own mounts.
        return os.readlink(host.root / f"proc/{pid}/exe").removesuffix(" (deleted)")  # noqa: PTH115
    except OSError:  # it has ended, is the kernel's, or is not ours to see
        return ""


def _activity(row: Any) -> UnitActivity:
    return UnitActivity(row[0], row[2], row[3], row[4], row[8], row[6])
