"""Carry out a plan as a transaction: an undo record first, every step checked, stop at the first failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from necroscope.errors import NecroscopeError, RefusedError, StoreError
from necroscope.model.fix import Fix, FixState, StepState
from necroscope.model.plan import Plan, Step
from necroscope.remedies.actions.stop_unit import STOP_UNIT
from necroscope.remedies.actions.systemd import read_units
from necroscope.remedies.actions.vital import foresee_stop, vital_effects, vital_reasons
from necroscope.remedies.apply.audit_log import LogLine, add_to_log
from necroscope.remedies.apply.executor import Transaction, action_of, sentence_of, transaction
from necroscope.remedies.apply.fixes import create_fix, plan_checksum
from necroscope.remedies.apply.journal import Entry, Happening
from necroscope.remedies.apply.recovery_hints import ways_out
from necroscope.remedies.apply.refusals import (
    begun_alone,
    refuse_not_writable,
    refuse_vital,
    reopened,
    why_foreign,
)
from necroscope.remedies.apply.site import Site
from necroscope.remedies.plan.make_plan import make_plan, refuse_if_changed
from necroscope.sources.host import Host

ENDED = (FixState.APPLIED, FixState.UNDONE, FixState.UNDONE_IN_PART)


def apply(
    plan: Plan,
    site: Site,
    *,
    is_new: bool = False,
    even_vital: bool = False,
    prepare: Callable[[], None] | None = None,
) -> Fix:
    """Carry out a plan, and return its record, which is not APPLIED if Ctrl-C ended it in the middle.

    Every plan is made again and compared right before its first step. `prepare` runs before that, when
    nothing is known to be wrong and others are kept out: it measures, and may take its time. A plan that
    `is_new`, made on this host a moment ago, is not made again before it, too.

    Raises RefusedError and StoreError with nothing changed, ChangeError if a step failed.
    """
    with begun_alone(site, tuple(map(str, plan.treatments))):
        if prepare:
            known = plan if is_new else refuse_if_changed(plan, site.host)
            _refuse(known, site.host, even_vital=even_vital)
            prepare()
        # What a file says about vital units does not count: it may be old.
        checked = refuse_if_changed(plan, site.host)
        _refuse(checked, site.host, even_vital=even_vital)
        with transaction(_begin(checked, site), site) as work:
            return _carry_out(work)


def refuse_early(site: Site, asked: str) -> None:
    """Say what keeps any plan from being carried out, before a look that takes its time."""
    with begun_alone(site, (asked,)):
        pass


def continue_fix(id: str, site: Site, *, even_vital: bool = False) -> Fix:
    """Do what is left of a fix that failed or ended in the middle.

    The host may have changed since: what is vital is asked again, and what an undo needs is recorded again.
    """
    with reopened(id, site, "--continue") as fix:
        if fix.state is FixState.UNDOING:
            raise RefusedError(f"the undo of {id} ended in the middle", hint=ways_out(fix, site.store))
        if fix.state in ENDED:
            raise RefusedError(f"nothing of {id} is left to do: it is {fix.state.value}")
        refuse_vital(_vital_in_the_rest(fix, site.host), even_vital=even_vital)
        refuse_not_writable(fix.plan, site.host)
        with transaction(fix, site) as work:
            work.note(Happening.CONTINUED)
            return _carry_out(work, again=True)


def _refuse(plan: Plan, host: Host, *, even_vital: bool) -> None:
    """Refuse a plan, as it is made now, that has nothing to do or must not be carried out."""
    if not plan.steps:
        what = "nothing can be applied automatically" if plan.by_hand else "there is nothing to do"
        raise RefusedError(what, hint="the plan says what is left to people" if plan.by_hand else "")
    refuse_vital(plan.vital, even_vital=even_vital)
    refuse_not_writable(plan, host)


def _begin(plan: Plan, site: Site) -> Fix:
    """A fix whose state before is on disk, and of which nothing is done yet."""
    try:
        before = tuple(dict(action_of(step).look(site.host, step)) for step in plan.steps)
    except (OSError, NecroscopeError) as error:
        what = f"the state before cannot be recorded: {sentence_of(error)}"
        raise RefusedError(what, hint="nothing was changed") from error
    if why := why_foreign(plan.treatments, plan.steps, before, site.host):
        hint = "change what is there by hand first; nothing was changed"
        raise RefusedError(f"an undo would not put back what is there now: {why}", hint=hint)
    begun = Entry(
        Happening.BEGUN, time.time_ns(), str(site.who), before=before, plan_sha256=plan_checksum(plan)
    )
    try:
        # The log first: one that cannot be written is found before anything is on record as begun.
        line = LogLine(Happening.BEGUN.value, host=plan.host, treatments=tuple(map(str, plan.treatments)))
        add_to_log(site.store, site.who, begun.at_ns, line)
        return create_fix(site.store, plan, begun)
    except OSError as error:
        hint = "no undo record, no fix: --store names a folder that can be written; nothing was changed"
        raise StoreError(f"the record cannot be written: {sentence_of(error)}", hint=hint) from error


def _carry_out(work: Transaction, *, again: bool = False) -> Fix:
    """Do the steps that are not done, and look at all of them once more in the end.

    A step that was begun is done again in any case: its effect may be there, and systemd not know of it.
    """
    try:
        for number, progress in enumerate(work.fix.progress, start=1):
            if progress.state is StepState.DONE:
                continue
            if again:
                work.look_again(number)
            work.do(number)
        for number in range(1, len(work.fix.progress) + 1):
            work.check(number)
        work.note(Happening.APPLIED)
    except KeyboardInterrupt:
        work.note(Happening.INTERRUPTED)  # unfinished, in a step or between two
    return work.fix


def _vital_in_the_rest(fix: Fix, host: Host) -> tuple[str, ...]:
    """What the node cannot do without, of all that the steps which are not done would stop now."""
    steps = zip(fix.plan.steps, fix.progress, strict=True)
    rest = [step for step, progress in steps if progress.state is not StepState.DONE]
    stops = [step for step in rest if step.action == STOP_UNIT.id]
    found = [line for step in stops for line in _vital_in_stop(host, step)]
    return tuple(dict.fromkeys([*found, *(_vital_in_plan(fix, host) if rest else ())]))


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
