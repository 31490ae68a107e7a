"""What has to be known anew before a fix goes on: time has passed, and the machine may be another one."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.errors import NecroscopeError, RefusedError
from necroscope.model.fix import Fix, Progress, State, StepState
from necroscope.model.plan import Step
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.actions.stop_unit import STOP_UNIT
from necroscope.remedies.actions.systemd import read_units
from necroscope.remedies.actions.vital import vital_reasons
from necroscope.remedies.plan.make_plan import make_plan
from necroscope.remedies.plan.stopping import foresee_stop, vital_effects
from necroscope.sources.host import Host


def refuse_vital(vital: tuple[str, ...], *, even_vital: bool) -> None:
    """Not without the word for it."""
    if vital and not even_vital:
        hint = "--even-vital does it all the same; nothing was changed"
        raise RefusedError(f"the node cannot do without what this stops: {'; '.join(vital)}", hint=hint)


def vital_in_the_rest(fix: Fix, host: Host) -> tuple[str, ...]:
    """What the node cannot do without, of all that the steps which are not done would stop now."""
    steps = zip(fix.plan.steps, fix.progress, strict=True)
    rest = [step for step, progress in steps if progress.state is not StepState.DONE]
    stops = [step for step in rest if step.action == STOP_UNIT.id]
    found = [line for step in stops for line in _vital_in_stop(host, step)]
    return tuple(dict.fromkeys([*found, *(_vital_in_plan(fix, host) if rest else ())]))


def state_to_go_on_from(host: Host, step: Step, progress: Progress) -> State:
    """What an undo of the step has to restore.

    Of a step that has not begun, all as it is now. Of one that has, what is there now may be its own doing,
    and what was recorded counts; but of the units that a stop takes along, some may have come since.
    """
    if step.action == STOP_UNIT.id:
        return {**ALL_ACTIONS[step.action].look(host, step), **progress.before}
    if progress.state is StepState.WAITING:
        return ALL_ACTIONS[step.action].look(host, step)
    return progress.before


def _vital_in_stop(host: Host, step: Step) -> Iterator[str]:
    units = read_units(host)
    names = tuple(name for name in step.value.split() if name in units and units[name].is_on)
    if names:
        effects = foresee_stop(host, names)
        yield from vital_effects(effects)
        yield from vital_reasons(host, (*names, *effects.along))


def _vital_in_plan(fix: Fix, host: Host) -> tuple[str, ...]:
    try:
        return make_plan(host, fix.plan.treatments, (), ()).vital
    except NecroscopeError:
        # Half done, it need not be one that can be planned: what is stopped has been asked for above.
        return ()
