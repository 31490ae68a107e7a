"""Services that are enabled and have not started at this boot, because something else failed.

Reads    org.freedesktop.systemd1 over D-Bus: the system bus, else /run/systemd/private; the scripts of steps
         that failed
Needs    systemd 230 or newer as the host's first process
Costs    1 ms where nothing has failed; else 30 ms with 56 services at rest, 12 of them enabled, and 180 ms
         with 144 and 101 (measured on two busy cores)

Told only of a service that was never started in this boot, though it is enabled and a unit that wants it is
active, and only where one of two things ties it to a failure: it needs a unit that failed, also by way of
others, and systemd did not pass it over for a condition of its own; or its condition on a file did not hold,
and a step (Type=oneshot) failed that names the file. So it is not told of a service that has run and was
stopped, of one that is disabled or masked, of a condition on hardware, on the kernel or on the absence of a
file, or of a target that this machine does not reach.

That the failure is the only reason is said where one unit failed, every condition holds but for files that
its commands write, and nothing is left open. A step that only names a file may have failed for want of it.

A step that makes a file without naming it (by a program, or by a variable) is not seen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.failed_steps import FailedUnit, read_failed_units
from necroscope.sources.host import Host
from necroscope.sources.source import Read, Source
from necroscope.sources.unit_conditions import FileCondition, StartConditions, judge

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

ENABLED = ("enabled", "enabled-runtime")
NEEDS = ("Requires", "Requisite", "BindsTo")
WANTERS = ("WantedBy", "RequiredBy", "UpheldBy")
LOOKED_AT = (
    ("Conditions", "ConditionResult", "ConditionTimestampMonotonic"),
    ("Asserts", "AssertResult", "AssertTimestampMonotonic"),
)
OF_RESTING = ("InactiveExitTimestampMonotonic", "UnitFileState")
REACHED = ("active", "activating", "reloading")


@dataclass(frozen=True, slots=True)
class HeldBackUnit:
    """One service, and what keeps it from starting."""

    name: str
    enabled: str
    wanted_by: str  # one that is active
    failed: str  # the unit whose failure it is
    result: str  # of that unit, as systemd calls it
    exit_status: int
    needs: str  # the failed unit, or one that is held back by it; empty where a condition is the reason
    condition: str  # ConditionPathExists=/etc/ecs/ecs.config
    path: str  # the file or folder that the failed step names
    is_only_reason: bool  # if the failed unit had not failed, it would have started


HeldBackUnits = tuple[HeldBackUnit, ...]


@dataclass(frozen=True, slots=True)
class _Resting:
    """A service that has not started in this boot."""

    name: str
    enabled: str
    wanted_by: str  # one that is active, if it is enabled; empty where it was not to start
    needs: tuple[str, ...]
    conditions: StartConditions


def open_held_back_units(host: Host) -> Read[HeldBackUnits]:
    """A reader of all enabled services that a failure keeps from starting."""
    return lambda: ask_systemd(host, lambda bus: _read(bus, host))


def _read(bus: SystemdBus, host: Host) -> HeldBackUnits:
    (answer,) = bus.call("ListUnitsByPatterns", "asas", (["failed"], []))
    failed = [row for row in answer if row[3] == "failed"]  # not only by its sub-state
    if not failed:
        return ()
    (listed,) = bus.call("ListUnitsByPatterns", "asas", ([], ["*.service", "*.target"]))
    rests = {
        row[0]: row[6] for row in listed if row[2:4] == ("loaded", "inactive") and row[0].endswith(".service")
    }
    reached = {row[0] for row in listed if row[3] in REACHED}
    resting = {one.name: one for one in _read_resting(bus, host, rests, reached)}
    wanted = [one for one in resting.values() if one.wanted_by]
    if not wanted:
        return ()
    failures = {one.name: one for one in read_failed_units(bus, host, failed)}
    found = (_held_back(one, resting, failures) for one in wanted)
    return tuple(one for one in found if one)


def _read_resting(
    bus: SystemdBus, host: Host, paths: Mapping[str, str], reached: Set[str]
) -> Iterator[_Resting]:
    """Those that were to start, and what these need. Only of few all is asked: every question costs."""
    states = _ask(bus, paths, paths, OF_RESTING)
    never = [name for name, of in states.items() if of["InactiveExitTimestampMonotonic"] == 0]
    enabled = [name for name in never if states[name]["UnitFileState"] in ENABLED]
    wanters = {name: _names(of, WANTERS) for name, of in _ask(bus, paths, enabled, WANTERS).items()}
    wanted_by = {
        name: next(by for by in names if by in reached)
        for name, names in wanters.items()
        if not reached.isdisjoint(names)
    }
    all_needs = _read_needs(bus, paths, never, wanted_by)
    conditions = _ask(bus, paths, all_needs, [name for names in LOOKED_AT for name in names])
    for name, needs in all_needs.items():
        yield _Resting(
            name,
            states[name]["UnitFileState"],
            wanted_by.get(name, ""),
            needs,
            _conditions(host, conditions[name]),
        )


def _read_needs(
    bus: SystemdBus, paths: Mapping[str, str], never: Collection[str], wanted: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """What some services need, and what those of it need that have not started either."""
    found: dict[str, tuple[str, ...]] = {}
    pending = list(wanted)
    while pending:
        found |= {name: _names(of, NEEDS) for name, of in _ask(bus, paths, pending, NEEDS).items()}
        needed = {need for name in pending for need in found[name]}
        pending = [name for name in never if name in needed and name not in found]
    return found


def _ask(
    bus: SystemdBus, paths: Mapping[str, str], units: Collection[str], properties: Sequence[str]
) -> dict[str, dict[str, Any]]:
    values = iter(bus.properties([(paths[unit], "Unit", name) for unit in units for name in properties]))
    return {unit: {name: next(values) for name in properties} for unit in units}


def _names(values: Mapping[str, Any], properties: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted({unit for name in properties for unit in values[name] or ()}))


def _conditions(host: Host, values: Mapping[str, Any]) -> StartConditions:
    """Its conditions, and then its assertions."""
    first, second = (
        judge(host, values[conditions] or (), bool(values[time]), bool(values[result]))
        for conditions, result, time in LOOKED_AT
    )
    return first & second


def _held_back(
    unit: _Resting,
    resting: Mapping[str, _Resting],
    failures: Mapping[str, FailedUnit],
) -> HeldBackUnit | None:
    own = unit.conditions
    lacks = [_ties(files, failures.values()) for files in own.lacking]
    if own.is_hopeless or not all(lacks):  # it would not start, whatever is mended
        return None
    # Passed over for a condition, it was not kept by what it needs.
    needs = [] if own.has_failed else list(_failed_needs(unit, resting, failures, frozenset()))
    if needs:
        failed, need = needs[0]
        condition = path = ""
    elif lacks and own.has_failed:
        failed, condition, path, _ = lacks[0][0]
        need = ""
    else:
        return None
    blamed = {one.name for one, _ in needs} | {tie.failed.name for ties in lacks for tie in ties}
    are_made = all(tie.is_written for ties in lacks for tie in ties)
    return HeldBackUnit(
        unit.name,
        unit.enabled,
        unit.wanted_by,
        failed.name,
        failed.result,
        failed.exit_status,
        need,
        condition,
        path,
        is_only_reason=len(blamed) == 1 and are_made and not own.is_open,
    )


def _failed_needs(
    unit: _Resting,
    resting: Mapping[str, _Resting],
    failures: Mapping[str, FailedUnit],
    seen: frozenset[str],
) -> Iterator[tuple[FailedUnit, str]]:
    """Units that failed, and what of the unit's own needs leads to each."""
    for need in unit.needs:
        if need in failures:
            yield failures[need], need
        # One that was passed over for a condition keeps nobody from starting.
        elif need in resting and need not in seen and not resting[need].conditions.has_failed:
            for failed, _ in _failed_needs(resting[need], resting, failures, seen | {unit.name}):
                yield failed, need


class _Tie(NamedTuple):
    """A unit that failed and names a file which another lacks."""

    failed: FailedUnit
    condition: str
    path: str
    is_written: bool


def _ties(files: Collection[FileCondition], failures: Collection[FailedUnit]) -> list[_Tie]:
    """Those that would have written one of some files; where there is none, those that name one."""
    ties = [
        _Tie(failed, file.text, path, file.path in failed.written)
        for file in files
        for failed in failures
        if (path := failed.path_towards(file.path))
    ]
    return [tie for tie in ties if tie.is_written] or ties


HELD_BACK_UNITS = Source(
    "held-back-units",
    open_held_back_units,
    pace_seconds=60,
    to_permit="run as root, or start the system bus (dbus); in a container, as a user that the host knows",
    to_support="a host run by systemd; in a container, mount the host's /run and use --root /host",
)
