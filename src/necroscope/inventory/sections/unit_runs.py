"""How a unit fares, in one word that stays the same while nothing changes.

    what                                          told                  in all phases of
    only a trigger starts it                      on demand             run, end, failure, next run
      and it was restarted ten times or more      crash-looping         run, wait, next run
    started at boot, and a trigger repeats it     on demand, or exited  run, end, failure, next run
    it was restarted, and is not at rest          crash-looping         run, stop, wait, next run
      of a console: after ten times, not one      running               log-out, next log-in
      and has held for ten minutes since          running               run, reload
    it is at rest after a failure                 failed
    it runs once, and did                         exited
    it waits for others                           waiting               idle, busy
    else                                          running, stopped, skipped

A service that dies less often than every ten minutes is crash-looping for ten minutes after each death: what
systemd tells of it does not tell the next death from the last.

What starts a unit again and again is known by files alone, except that a timer, socket, path or automount has
to be active: a service whose timer nobody has started does not come and go.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping

from necroscope.inventory.sections.unit_times import UnitTimes
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_details import UnitDetail
from necroscope.sources.systemd.unit_files import UnitFile
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_settings import words_of
from necroscope.sources.unit_conditions import failed_conditions

HELD_SECONDS = 600.0  # a loop that takes longer is none
FEWEST_RESTARTS = 1  # more would have it flip between two words until there are as many
MANY_RESTARTS = 10  # more than the start limit lets pass: not what a trigger or a log-out brings
WAITING = ("socket", "timer", "path", "automount")  # their sub-states say who came last
TRIGGERS = (".timer", ".socket", ".path", ".automount")
REPEATING = (".timer", ".path")  # their service is a job; that of a socket may be a daemon
STARTED = (".service", ".mount")
NOT_ENABLED = ("static", "indirect", "alias", "disabled", "linked", "linked-runtime")
ON_OUTCOME = ("Unit.OnFailure", "Unit.OnSuccess")


class Demand(enum.Enum):
    """What is known of a unit that does not move."""

    NONE = "it is started at boot, by another unit or by hand"
    ONLY = "nothing but a trigger starts it"
    ALSO = "it is started at boot, and a trigger repeats it"


def runs(
    unit: UnitFile, detail: UnitDetail | None, times: UnitTimes | None, demand: Demand, condition: str
) -> str:
    """running, exited, failed, crash-looping, waiting, stopped, on demand, or skipped for a condition."""
    if detail is None:
        return "on demand" if demand is Demand.ONLY else _resting(condition)
    is_console = "Service.TTYPath" in unit.settings
    fewest = MANY_RESTARTS if is_console or demand is not Demand.NONE else FEWEST_RESTARTS
    if is_looping(detail, times, fewest):
        return "crash-looping"
    stays = detail.active_state == "active" and detail.sub_state == "exited"
    if demand is Demand.ONLY or (demand is Demand.ALSO and not stays):
        return "on demand"
    if detail.active_state == "failed":
        return "failed"
    if detail.type == "oneshot" and detail.active_state == "inactive" and times and times.has_begun:
        return "exited"
    return _state(unit.name.rpartition(".")[2], detail, condition)


def is_looping(detail: UnitDetail, times: UnitTimes | None, fewest: int = FEWEST_RESTARTS) -> bool:
    """Whether it is started again and again; what is at rest is not, nor what has held for ten minutes."""
    if "auto-restart" in detail.sub_state and fewest == FEWEST_RESTARTS:
        return True
    is_at_rest = detail.active_state in ("inactive", "failed") and "auto-restart" not in detail.sub_state
    has_held = detail.active_state != "activating" and times and times.seconds_active > HELD_SECONDS
    has_ended_well = detail.type == "oneshot" and detail.sub_state == "exited"
    return (detail.restarts or 0) >= fewest and not (is_at_rest or has_held or has_ended_well)


def failed_condition(host: Host, unit: UnitFile) -> str:
    """The first condition that does not hold, by files: systemd forgets at a daemon-reload which it was."""
    first = next(failed_conditions(host, unit.settings), "")
    return first.partition(" does not hold")[0]


def _state(kind: str, detail: UnitDetail, condition: str) -> str:
    if detail.active_state == "inactive":
        return _resting(condition)
    if kind in WAITING:
        return "waiting"
    return "exited" if detail.sub_state == "exited" else "running"


def _resting(condition: str) -> str:
    return f"skipped ({condition})" if condition else "stopped"


def read_demand(units: Collection[UnitFile], is_active: Collection[str]) -> Mapping[str, Demand]:
    """The demand of every unit, from their files and the names of those that are active."""
    triggers: dict[str, set[str]] = {unit.name: {*_triggers(unit, is_active)} for unit in units}
    for unit in units:
        parts = parse_unit_name(unit.name)
        for word in words_of(value for setting in ON_OUTCOME for value in unit.settings.get(setting, ())):
            triggers.setdefault(parts.expand(word) if parts else word, set()).add(unit.name)
    found = {unit.name: _demand(unit, triggers[unit.name]) for unit in units}
    return found | _followers(units, found)


def _triggers(unit: UnitFile, is_active: Collection[str]) -> Collection[str]:
    return [name for name in unit.wanted_by if name.endswith(TRIGGERS) and name in is_active]


def _demand(unit: UnitFile, triggers: Collection[str]) -> Demand:
    if not unit.name.endswith(STARTED):
        return Demand.NONE
    others = [name for name in (*unit.wanted_by, *unit.needed_by) if not name.endswith(TRIGGERS)]
    if not others and not unit.enabled_by and unit.state in NOT_ENABLED:
        # One that is disabled has no name on the bus either: its alias comes with enabling it.
        is_on_bus = "Service.BusName" in unit.settings and unit.state != "disabled"
        return Demand.ONLY if triggers or is_on_bus else Demand.NONE
    is_job = _last(unit, "Service.Restart") in ("", "no") and any(map(_repeats, triggers))
    is_once = _last(unit, "Service.Type") == "oneshot" and bool(triggers)
    return Demand.ALSO if is_job or is_once else Demand.NONE


def _repeats(trigger: str) -> bool:
    return not trigger.endswith(TRIGGERS) or trigger.endswith(REPEATING)


def _followers(units: Collection[UnitFile], found: Mapping[str, Demand]) -> dict[str, Demand]:
    """Units that nothing starts but those that come and go: they come with them."""
    comes = {name for name, demand in found.items() if demand is Demand.ONLY}
    waiting = [unit for unit in units if unit.name.endswith(".service") and unit.name not in comes]
    more = True
    while more:
        more = False
        for unit in waiting:
            starters = {*unit.wanted_by, *unit.needed_by}
            if unit.name not in comes and starters and not unit.enabled_by and starters <= comes:
                comes.add(unit.name)
                more = True
    return dict.fromkeys(comes, Demand.ONLY)


def _last(unit: UnitFile, setting: str) -> str:
    return unit.settings.get(setting, ("",))[-1]
