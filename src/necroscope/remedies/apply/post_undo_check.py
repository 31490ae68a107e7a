"""Whether all units run again that ran before a fix, by what was recorded then."""

from __future__ import annotations

from necroscope.model.fix import Fix, StepState
from necroscope.remedies.actions.stop_unit import ON, STOP_UNIT
from necroscope.remedies.actions.systemd import read_units
from necroscope.sources.host import Host


def units_not_on_again(fix: Fix, host: Host) -> tuple[str, ...]:
    """The units that were on and are not, each with what is known of it."""
    were_on = {
        name: before
        for step, progress in zip(fix.plan.steps, fix.progress, strict=True)
        if step.action == STOP_UNIT.id and progress.state is not StepState.WAITING
        for name, before in progress.before.items()
        if before.startswith(ON)
    }
    units = read_units(host) if were_on else {}
    return tuple(
        f"{name} was {before}; it is {units[name].active_state if name in units else 'not loaded'} now"
        for name, before in sorted(were_on.items())
        if name not in units or not units[name].is_on
    )
