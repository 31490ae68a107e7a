"""Stop a unit as systemd stops it, and start it again with all that was stopped along.

Target   the unit
Value    all units to stop, in this order: first those that would start it again, then itself
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from necroscope.errors import ChangeError
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.model.shell_command import shell_command
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.record_rules import why_not_live, why_not_unit
from necroscope.remedies.actions.systemd import ask, order, read_units, start_units, wait_until
from necroscope.remedies.actions.vital import vital_reasons
from necroscope.sources.host import Host
from necroscope.sources.systemd.stop_effects import find_stop_effects
from necroscope.sources.systemd.unit_activity import (
    NEEDS,
    UnitActivity,
    find_stopped_along,
    list_activity,
    list_dependencies,
)

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

TRIES = 3  # something may start it between a stop and the next look
MARGIN_SECONDS = 15.0
# ExecStop=, SIGTERM, ExecStopPost= and the last signals have the unit's TimeoutStopSec= each.
PHASES = 4
# For a unit that may take for ever to stop. We then give up; nothing is killed.
LONGEST_SECONDS = 900.0
NEVER = 2**64 - 1
START_SECONDS = 120.0

# What a unit was before, and so what becomes of it in an undo.
ON = "on"  # is started
OFF = "off"  # is left alone
STARTED = "off, and started by the stop"  # is stopped
LOST = "on, and cannot be started again"
LEFT = "on, and started by another step"  # one that another unit upholds
WORDS = (ON, OFF, STARTED, LEFT)

KINDS = ("Service", "Socket", "Mount", "Swap", "Scope")  # that have a time limit


def _look(host: Host, step: Step) -> State:
    """These units, those that a stop takes along and those that it starts, each with what an undo does."""
    names = step.value.split()

    def look(bus: SystemdBus) -> State:
        units = list_activity(bus)
        effects = find_stop_effects(host, bus, names)
        found = {
            name: ON if name in units and units[name].is_on else OFF for name in (*names, *effects.along)
        }
        found |= dict.fromkeys(effects.started, STARTED)
        found |= {name: f"{LOST}: {why}" for name, why in effects.lost.items()}
        if step.target in effects.upheld:
            found[step.target] = LEFT
        return found

    return ask(host, look)


def _do(host: Host, step: Step) -> str:
    names = step.value.split()
    _stop_now(host, names)
    return _check(host, step) or f"{' '.join(names)} stopped"


def _stop_now(host: Host, names: Sequence[str]) -> None:
    for _ in range(TRIES):
        units = read_units(host)
        left = [one for one in names if one in units and (units[one].is_on or not units[one].is_settled)]
        if not left:
            return
        most_seconds = order(host, partial(_stop, names=left))
        if not wait_until(host, left, lambda unit: unit.job != "stop", most_seconds):
            raise ChangeError(
                f"{' '.join(left)} had to stop and did not in {most_seconds:.0f} s",
                hint=f"`{shell_command(['systemctl', 'status'], left)}` shows what it waits for;"
                " nothing was killed",
            )


def _stop(bus: SystemdBus, names: Sequence[str]) -> float:
    """Order the stops, and say how long they may take, with those of units that are stopped along."""
    units = list_activity(bus)
    all_names = [name for name in (*names, *find_stopped_along(bus, names)) if name in units]
    kinds = [(units[name].path, name.rpartition(".")[2].capitalize()) for name in all_names]
    limited = [(path, kind) for path, kind in kinds if kind in KINDS]
    settings = ("TimeoutStopUSec", "TimeoutUSec")  # the latter of sockets, mounts and swaps
    answers = bus.properties([(path, kind, setting) for path, kind in limited for setting in settings])
    for name in names:
        bus.call("StopUnit", "ss", (name, "replace"))
    limits = [answer for answer in answers if answer]
    if NEVER in limits:
        return LONGEST_SECONDS
    return float(min(MARGIN_SECONDS + PHASES * sum(limits) / 1e6, LONGEST_SECONDS))


def _check(host: Host, step: Step) -> str:
    units = read_units(host)
    on = [units[name] for name in step.value.split() if name in units and units[name].is_on]
    again = [f"{unit.name} ({unit.active_state}, {unit.sub_state})" for unit in on]
    return f"stopped, and on again: {', '.join(again)}" if again else ""


def _undo(host: Host, step: Step, before: State) -> None:
    # A socket cannot be started once its service runs; those that were stopped along need the unit.
    names = (*step.value.split(), *before)
    on = tuple(dict.fromkeys(name for name in names if before.get(name) == ON))
    running = {name for name, unit in read_units(host).items() if unit.is_on}
    ours = [name for name in step.value.split() if name in on]
    if not running.issuperset(ours):  # a stop that ended in the middle may have left the service running
        _stop_now(host, ours)
    start_units(host, on, START_SECONDS)
    surplus = {name for name, state in before.items() if state == STARTED}
    surplus |= ask(host, partial(find_pulled_in, names=on, running=running))
    _stop_now(host, [name for name in surplus if before.get(name, STARTED) == STARTED])


def _check_undone(host: Host, step: Step, before: State) -> str:
    units = read_units(host)
    on = {name for name in before if name in units and units[name].is_on}
    off = [name for name, state in before.items() if state == ON and name not in on]
    missing = [name for name in off if not (name in units and _has_run(host, units[name]))]
    left = [name for name, state in before.items() if state == STARTED and name in on]
    said = [f"not running again: {', '.join(missing)}"] if missing else []
    return "; ".join([*said, *([f"still running: {', '.join(left)}"] if left else [])])


def _has_run(host: Host, unit: UnitActivity) -> bool:
    """Whether it is one that runs and ends, and did so well."""
    if not unit.name.endswith(".service"):
        return False
    questions = [(unit.path, "Service", key) for key in ("Type", "Result")]
    return ask(host, lambda bus: bus.properties(questions)) == ["oneshot", "success"]


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    """Only units; and an undo does not stop what the node cannot do without."""
    names = step.value.split()
    if names[-1:] != [step.target]:
        return f"{step.target[:80]!r} is not the last unit that it stops"
    strange = [word for word in before.values() if word not in WORDS and not word.startswith(f"{LOST}: ")]
    if strange:
        return f"no unit was {strange[0][:80]!r} before"
    unknown = next(filter(None, map(why_not_unit, (*names, *before))), "")
    if why := why_not_live(host) or unknown:
        return why
    started = [name for name, word in before.items() if word == STARTED]
    vital = vital_reasons(host, started) if started else ()
    return f"an undo would stop {vital[0]}" if vital else ""


STOP_UNIT = Action("stop-unit", _look, _do, _check, _undo, _check_undone, _why_not_ours)


def find_pulled_in(bus: SystemdBus, names: Collection[str], running: Collection[str]) -> set[str]:
    """What the start of `names` has started along, if only these were `running` before.

    Those whose stop would take along others are left out. After a crash in the middle of the start they count
    as having run before, and stay on.
    """
    units = list_activity(bus)
    reached = set(names)
    pending = reached
    while pending:
        pending = list_dependencies(bus, units, pending, NEEDS) - reached
        reached = reached | pending
    new = {name for name in reached.difference(names, running) if name in units and units[name].is_on}
    return {name for name in new if not set(find_stopped_along(bus, [name])) - new}
