"""Which units something starts again and again: then how they fare now is chance.

By files alone, except that a timer, socket, path or automount has to be active: a service whose timer nobody
has started does not come and go.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping

from necroscope.sources.systemd.unit_files import UnitFile
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_settings import words_of

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
