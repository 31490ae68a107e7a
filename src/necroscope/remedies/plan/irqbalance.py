"""Have irqbalance leave interrupts where somebody else puts them.

Read in its source: --banirq is there since 1.0.4 (2012); before 1.1.0 it is forgotten when irqbalance finds a
new interrupt. Other interrupts are balanced as before. The drop-in is in /run, because numbers of interrupts
do not outlive a boot, and neither do the places that they were given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from necroscope.inventory.sections.daemons import IRQBALANCE, read_daemons
from necroscope.model.fix import State
from necroscope.model.plan import Assumption, ByHand, Step
from necroscope.model.shell_command import shell_command
from necroscope.remedies.actions.restart_unit import RESTART_UNIT, WHEN_DONE, WHEN_UNDONE
from necroscope.remedies.plan.remedy import Part
from necroscope.remedies.plan.steps import NOTHING_NOW, file_step, restart_command, texts_of
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import read_unit_files
from necroscope.sources.units import open_units

UNIT = "irqbalance.service"
DROP_IN = f"/run/systemd/system/{UNIT}.d/50-necroscope-banirq.conf"
BAN = "--banirq="
_BANS = re.compile(rf" {BAN}\d{{1,7}}(?!\S)", re.ASCII)
WHY = "it would put the interrupts back within ten seconds, as its interval is"
WHY_WRITE = f"irqbalance is told to leave the interrupts of network queues alone: {WHY}"
COST = "the interrupts of network queues are not balanced any more, all others are"


def leave_alone(host: Host, irqs: Sequence[int]) -> Part:
    """The steps after which irqbalance leaves these interrupts alone; none where it does not run."""
    daemons = read_daemons(host)
    if daemons.value is None:
        said = f"whether irqbalance runs is not known ({daemons.reason}): if it does, it undoes this"
        return Part(warnings=(said,))
    if IRQBALANCE not in daemons.value:
        return Part(assumptions=(Assumption(IRQBALANCE, "does not run"),))
    command = _command(host)
    units = open_units(host)().value or ()
    is_its = any(unit.name == UNIT and unit.active_state == "active" for unit in units)
    if not command or not is_its:  # the one that runs is not systemd's
        return _by_hand(irqs)
    banned = command.split()
    missing = [word for irq in irqs if (word := f"{BAN}{irq}") not in banned]
    if not missing:
        return Part(assumptions=(Assumption(UNIT, f"runs {command}"),))
    write = replace(file_step(host, DROP_IN, _text((command, *missing)), WHY_WRITE), cost=COST)
    return Part(
        steps=(_restart(WHEN_UNDONE), write, _restart(WHEN_DONE)),
        assumptions=(Assumption(UNIT, f"runs {command}"),),
        seen=("irqbalance runs, and would put interrupts back",),
    )


def why_not_left_alone(host: Host, _subject: str, step: Step, before: State) -> str:
    """Why a drop-in, or the one before it, does more than to add bans to the unit's command."""
    there = host.read_regular(DROP_IN).value
    allowed = _without_bans(_text([_command(host)]))
    is_ours = all(text == there or _without_bans(text) == allowed for text in texts_of(step, before))
    if step.target == DROP_IN and is_ours:
        return ""
    return f"{step.target} would have {UNIT} run another command than it does here"


def _text(words: Iterable[str]) -> str:
    return f"[Service]\nExecStart=\nExecStart={' '.join(words)}\n"


def _without_bans(text: str) -> str:
    return _BANS.sub("", text)


def _command(host: Host) -> str:
    """The one command of its unit; empty where it has none or several, which we do not rewrite."""
    units = read_unit_files(host).value or ()
    commands = [unit.settings.get("Service.ExecStart", ()) for unit in units if unit.name == UNIT]
    return commands[0][0] if commands and len(commands[0]) == 1 else ""


def _by_hand(irqs: Iterable[int]) -> Part:
    command = shell_command(["irqbalance", *(f"--banirq={irq}" for irq in irqs)])
    advice = ByHand(
        commands=(f"{command}  # beside the options that it has now",),
        why=f"irqbalance runs, and not as {UNIT}: it has to be started again with these options, before the"
        f" steps are carried out. Else {WHY}",
        cost=COST,
    )
    return Part(by_hand=(advice,), assumptions=(Assumption(IRQBALANCE, f"runs, not as {UNIT}"),))


def _restart(when: str) -> Step:
    now = when == WHEN_DONE
    command = restart_command(UNIT)
    return Step(
        action=RESTART_UNIT.id,
        target=UNIT,
        value=when,
        command=command if now else NOTHING_NOW,
        why="irqbalance reads its options when it starts"
        if now
        else "an undo ends with irqbalance running as it did before",
        risk="",
        cost="irqbalance counts anew for ten seconds" if now else "",
        undo="nothing: the first of these steps restarts it again" if now else command,
    )
