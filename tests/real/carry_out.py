"""Carry a plan out by its actions alone, take it back, and tell whether a machine is as it was."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lab.machines.nspawn import Container
from necroscope.model.fix import State
from necroscope.model.plan import Plan, Treatment
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.sources.host import Host


def plan_for(host: Host, remedy: str, subject: str) -> Plan:
    """A plan that comes out the same when it is made again."""
    plan, again = (make_plan(host, [Treatment(remedy, subject)], (), ()) for _ in range(2))
    assert (plan.steps, plan.assumptions) == (again.steps, again.assumptions)
    return plan


def carry_out(host: Host, plan: Plan) -> list[State]:
    """Do every step twice, as after a crash between two of them; what was there before."""
    before = [ALL_ACTIONS[step.action].look(host, step) for step in plan.steps]
    for step in plan.steps:
        action = ALL_ACTIONS[step.action]
        for _ in range(2):
            assert action.do(host, step)
            assert action.check(host, step) == ""
    return before


def take_back(host: Host, plan: Plan, before: Sequence[State]) -> None:
    """Take every step back, the last first, each of them twice."""
    for step, state in reversed(list(zip(plan.steps, before, strict=True))):
        action = ALL_ACTIONS[step.action]
        for _ in range(2):
            action.undo(host, step, state)
            assert action.check_undone(host, step, state) == ""


def listing(root: Path, folder: str = "etc/systemd") -> dict[str, tuple[object, ...]]:
    """Every file, link and folder below: kind, mode, owner, content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted((root / folder).rglob("*")):
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = os.readlink(path)  # noqa: PTH115
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (oct(status.st_mode), status.st_uid, status.st_gid, content)
    return found


def unit_states(machine: Container) -> dict[str, tuple[str, ...]]:
    """What systemctl says of every unit and every unit file; a crash loop is told as one state."""
    units = machine.run(["systemctl", "list-units", "--all", "--plain", "--no-legend", "--full"]).stdout
    files = machine.run(["systemctl", "list-unit-files", "--no-legend", "--full"]).stdout
    rows = [line.split() for line in units.splitlines()]
    states = {row[0]: (row[1], row[2]) for row in rows}  # a timer's third word changes by itself
    loops = {name: (state[0], "loops") for name, state in states.items() if name.startswith("loop")}
    states |= loops
    # What nothing refers to, systemd forgets or keeps as it likes.
    states = {name: state for name, state in states.items() if state[1] != "inactive"}
    return states | {f"file {row[0]}": tuple(row[1:]) for row in map(str.split, files.splitlines())}
