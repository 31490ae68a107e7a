"""Take back a fix: its steps in reverse order, each to the state that was recorded before the first."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.errors import ChangeError, HostChangedError, RefusedError
from necroscope.model.fix import Fix, FixState, StepState
from necroscope.remedies.actions.stop_unit import ON, STOP_UNIT
from necroscope.remedies.actions.systemd import read_units
from necroscope.remedies.apply.executor import Transaction, action_of, sentence_of, transaction
from necroscope.remedies.apply.fixes import read_fixes
from necroscope.remedies.apply.journal import Happening
from necroscope.remedies.apply.recovery_hints import undo_command, ways_out
from necroscope.remedies.apply.refusals import reopened
from necroscope.remedies.apply.site import Site
from necroscope.remedies.plan.make_plan import is_of_host
from necroscope.sources.host import Host

HALF_BACK = (FixState.UNDOING, FixState.UNDONE_IN_PART)
UNTOUCHED = (StepState.WAITING, StepState.UNDONE)


def undo(id: str, site: Site, *, force: bool = False) -> Fix:
    """Take back a fix, or what was done of it, or what is left of an undo that ended in the middle.

    A step that cannot be taken back does not keep the others from it. Raises RefusedError with nothing
    changed, ChangeError where some could not be taken back. Not UNDONE where Ctrl-C ended it. With `force`
    what somebody changed after the fix is overwritten, and where steps are left, the fix is closed as
    UNDONE_IN_PART, so that others are possible.
    """
    with reopened(id, site, "--undo") as fix:
        if fix.state is FixState.UNDONE:
            raise RefusedError(f"{id} has been taken back already")
        if fix.state not in HALF_BACK:  # half taken back, it looks neither like before nor after
            _refuse_later_fix(fix, site)
            if not force:
                _refuse_later_change(fix, site)
        with transaction(fix, site) as work:
            work.note(Happening.UNDO_BEGUN)
            try:
                _undo_steps(work, site, force=force)
            except KeyboardInterrupt:
                work.note(Happening.INTERRUPTED)  # an undo in the middle
            return work.fix


def _undo_steps(work: Transaction, site: Site, *, force: bool) -> None:
    failures = []
    for number in range(len(work.fix.progress), 0, -1):
        if work.fix.progress[number - 1].state not in UNTOUCHED:
            failures.append(work.undo(number, force=force))
    failures = [*filter(None, failures)]
    if failures and not force:
        raise ChangeError("; ".join(failures), hint=ways_out(work.fix, site.store))
    not_as_before = "; ".join([*failures, *_units_not_on_again(work.fix, site.host)])
    work.note(Happening.UNDONE_IN_PART if failures else Happening.UNDONE, outcome=not_as_before)


def _units_not_on_again(fix: Fix, host: Host) -> tuple[str, ...]:
    try:
        return units_not_on_again(fix, host)
    except ChangeError as error:
        return (f"whether all units run again is not known: {error.what}",)


def _refuse_later_fix(fix: Fix, site: Site) -> None:
    """Two fixes of one thing are taken back in reverse order, as two steps are."""
    targets = _targets(fix)
    for later in read_fixes(site.store).fixes:
        if (later.begun_ns, later.id) <= (fix.begun_ns, fix.id) or not is_of_host(later.plan, site.host):
            continue
        if shared := sorted(targets & _targets(later)):
            hint = f"take that one back first: `{undo_command(later, site.store)}`"
            raise RefusedError(f"{later.id} has changed {shared[0]} after {fix.id}", hint=hint)


def _targets(fix: Fix) -> set[str]:
    """What a fix has changed and could put back."""
    return {
        step.target
        for step, progress in zip(fix.plan.steps, fix.progress, strict=True)
        if progress.before and progress.state not in UNTOUCHED
    }


def _refuse_later_change(fix: Fix, site: Site) -> None:
    changes = list(_later_changes(fix, site.host))
    if changes:
        what = f"it is no longer as {fix.id} left it: {'; '.join(changes)}"
        hint = f"`{undo_command(fix, site.store, '--force')}` overwrites that where it can"
        raise HostChangedError(what, hint=hint)


def _later_changes(fix: Fix, host: Host) -> Iterator[str]:
    """What is neither as the fix left it nor as it was before."""
    for step, progress in zip(fix.plan.steps, fix.progress, strict=True):
        if progress.state is not StepState.DONE:
            continue
        action = action_of(step)
        try:
            if (why := action.check(host, step)) and action.check_undone(host, step, progress.before):
                yield f"{step.target}: {why}"
        except (OSError, ChangeError) as error:
            yield f"{step.target}: {sentence_of(error)}"


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
