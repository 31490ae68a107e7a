"""Restart a unit, so that it takes up settings that the steps beside this one change.

Target   the unit
Value    when done: after the steps before it
         when undone: after the steps behind it have been taken back; before an undo nothing is done

Settings are changed between one of each kind, because an undo goes through the steps backwards: else it would
leave the unit running with what has been taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from necroscope.errors import ChangeError
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.record_rules import why_not_live, why_not_unit, why_other_keys
from necroscope.remedies.actions.systemd import ask, order, reload_systemd, wait_until
from necroscope.sources.host import Host

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

WHEN_DONE = "when done"
WHEN_UNDONE = "when undone"
WAIT_SECONDS = 90.0  # as long as systemd gives a service to start
PROPERTIES = ("ActiveState", "ActiveEnterTimestamp", "NeedDaemonReload", "DropInPaths")


class _Unit(NamedTuple):
    """What systemd tells about a unit; the names are its properties."""

    active_state: str
    active_enter_timestamp: int  # microseconds of the wall clock
    need_daemon_reload: bool  # there are newer files than those that are loaded
    drop_in_paths: list[str]


def _look(host: Host, step: Step) -> State:
    return {"state": _unit(host, step.target).active_state}


def _do(host: Host, step: Step) -> str:
    if step.value == WHEN_UNDONE:
        return "nothing to do before an undo"
    _restart(host, step.target)
    return "restarted"


def _check(host: Host, step: Step) -> str:
    return "" if step.value == WHEN_UNDONE else _why_not_as_its_files_say(host, step.target)


def _undo(host: Host, step: Step, before: State) -> None:
    if step.value == WHEN_UNDONE and before["state"] == "active":
        _restart(host, step.target)


def _check_undone(host: Host, step: Step, before: State) -> str:
    if step.value == WHEN_DONE or before["state"] != "active":
        return ""
    return _why_not_as_its_files_say(host, step.target)


def _why_not_as_its_files_say(host: Host, name: str) -> str:
    unit = _unit(host, name)
    if unit.active_state != "active":
        return f"{name} is {unit.active_state}"
    if unit.need_daemon_reload:
        return f"systemd has not loaded the changed files of {name}"
    for file in unit.drop_in_paths:
        if host.path(file).stat().st_mtime_ns > unit.active_enter_timestamp * 1000:
            return f"{name} was started before {file} was written"
    return ""


def _restart(host: Host, name: str) -> None:
    # NeedDaemonReload does not tell of the first drop-in of a unit (seen with systemd 252).
    reload_systemd(host)
    order(host, lambda bus: bus.call("RestartUnit", "ss", (name, "replace")))
    if not wait_until(host, (name,), lambda unit: not unit.job, WAIT_SECONDS):
        raise ChangeError(f"{name} is not running {WAIT_SECONDS:g} s after its restart was asked for")


def _unit(host: Host, name: str) -> _Unit:
    def question(bus: SystemdBus) -> _Unit:
        (path,) = bus.call("LoadUnit", "s", (name,))
        return _Unit(*bus.properties([(path, "Unit", one) for one in PROPERTIES]))

    return ask(host, question)


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    if step.value not in (WHEN_DONE, WHEN_UNDONE):
        return f"no unit is restarted {step.value[:80]!r}"
    return why_not_live(host) or why_not_unit(step.target) or why_other_keys(before, ["state"])


RESTART_UNIT = Action("restart-unit", _look, _do, _check, _undo, _check_undone, _why_not_ours)
