"""What a stop of units sets off beside: actions on the whole machine, other units, and no way back.

Reads    org.freedesktop.systemd1 over D-Bus
Needs    systemd as the host's first process
Costs    about 20 properties of each unit that is stopped, 0.1 ms each
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from necroscope.model.reading import Reading
from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_activity import (
    UnitActivity,
    find_stopped_along,
    list_activity,
    list_dependencies,
)

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

# Of services before systemd 236 in their own interface.
ACTIONS = ("SuccessAction", "FailureAction", "JobTimeoutAction")
STARTING = ("OnSuccess", "OnFailure")
FACTS = ("CanStop", "CanStart", "Transient", "FragmentPath")


class _Facts(NamedTuple):
    """What systemd tells about a unit; the names are its properties."""

    can_stop: bool | None
    can_start: bool | None
    transient: bool | None
    fragment_path: str | None


@dataclass(frozen=True, slots=True)
class StopEffects:
    """What happens when some units are stopped; each by the unit that it happens to or comes from."""

    along: tuple[str, ...] = ()  # are stopped, too
    refusing: tuple[str, ...] = ()  # of those to stop, which cannot be stopped by hand
    acting: Mapping[str, str] = field(default_factory=dict)  # SuccessAction=reboot
    started: Mapping[str, str] = field(default_factory=dict)  # units that are off, and who names them
    lost: Mapping[str, str] = field(default_factory=dict)  # cannot be started again, and why
    run_again: tuple[str, ...] = ()  # have run and ended, and count as on
    mounts: Mapping[str, str] = field(default_factory=dict)  # mounts, and their file systems
    upheld: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # who starts it again at once


def read_stop_effects(host: Host, names: Collection[str]) -> Reading[StopEffects]:
    """What a stop of these would set off, on a connection of its own."""
    return ask_systemd(host, lambda bus: find_stop_effects(host, bus, names))


def find_stop_effects(host: Host, bus: SystemdBus, names: Collection[str]) -> StopEffects:
    """The same on a connection that is there already."""
    units = list_activity(bus)
    along = find_stopped_along(bus, names)
    stopped = [units[name] for name in (*names, *along) if name in units and units[name].is_on]
    facts = {unit.name: _Facts(*_ask(bus, unit, FACTS)) for unit in stopped}
    return StopEffects(
        along=along,
        refusing=tuple(name for name in names if name in facts and facts[name].can_stop is False),
        acting=_acting(bus, stopped),
        started=_started(bus, units, stopped),
        lost={unit.name: why for unit in stopped if (why := _why_lost(host, unit, facts[unit.name]))},
        run_again=tuple(unit.name for unit in stopped if unit.sub_state == "exited"),
        mounts=_mounts(bus, stopped),
        upheld=_upheld(bus, units, names, along),
    )


def _ask(bus: SystemdBus, unit: UnitActivity, keys: Collection[str], interface: str = "Unit") -> list[Any]:
    return bus.properties([(unit.path, interface, key) for key in keys])


def _why_lost(host: Host, unit: UnitActivity, facts: _Facts) -> str:
    """Why a unit that is on cannot be started again, in words; empty where it can."""
    if facts.transient or unit.name.endswith(".scope"):
        return "it was made by a program, and systemd forgets it with the stop"
    if unit.load_state == "masked":
        return "it is masked"
    if unit.load_state == "not-found" or (facts.fragment_path and not _is_there(host, facts.fragment_path)):
        return "its file is gone"
    return "systemd refuses it (RefuseManualStart=)" if facts.can_start is False else ""


def _is_there(host: Host, path: str) -> bool:
    try:
        return host.path(path).exists()
    except OSError:
        return False


def _acting(bus: SystemdBus, stopped: Collection[UnitActivity]) -> dict[str, str]:
    found = {}
    for unit in stopped:
        answers = _ask(bus, unit, ACTIONS)
        if unit.name.endswith(".service"):
            answers += _ask(bus, unit, ("FailureAction",), "Service")
        said = zip((*ACTIONS, "FailureAction"), answers, strict=False)
        if actions := [f"{key}={value}" for key, value in said if value not in (None, "", "none")]:
            found[unit.name] = ", ".join(dict.fromkeys(actions))
    return found


def _started(
    bus: SystemdBus, units: Mapping[str, UnitActivity], stopped: Collection[UnitActivity]
) -> dict[str, str]:
    named = {}
    for unit in stopped:
        for key, listed in zip(STARTING, _ask(bus, unit, STARTING), strict=True):
            for name in listed or ():
                if name not in units or not units[name].is_on:
                    named[name] = f"{key}= of {unit.name}"
    return named


def _upheld(
    bus: SystemdBus, units: Mapping[str, UnitActivity], names: Collection[str], along: Collection[str]
) -> dict[str, tuple[str, ...]]:
    found = {}
    for name in names:
        upholders = list_dependencies(bus, units, [name], ["UpheldBy"]).difference(names, along)
        if on := tuple(sorted(other for other in upholders if other in units and units[other].is_on)):
            found[name] = on
    return found


def _mounts(bus: SystemdBus, stopped: Collection[UnitActivity]) -> dict[str, str]:
    mounts = [unit for unit in stopped if unit.name.endswith(".mount")]
    answers = [_ask(bus, unit, ("Type", "Options"), "Mount") for unit in mounts]
    remote = "_netdev"
    return {
        unit.name: remote if remote in str(options).split(",") else str(type)
        for unit, (type, options) in zip(mounts, answers, strict=True)
    }
