"""How all that changes a machine begins: alone, and refused where it must not be; each refusal is logged.

Root does what a record says: an undo puts back what it calls the state before, and `--continue` does its
steps, which nobody plans again. So both are checked, of each step, before anything is done; and in the same
way before a fix begins, so that an undo is never refused for what was there when it began.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from necroscope.errors import FixHeldError, NecroscopeError, RefusedError, StoreError
from necroscope.model.fix import Fix, FixState, State
from necroscope.model.plan import Plan, Step, Treatment
from necroscope.model.shell_command import option, shell_command
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.actions.make_link import MAKE_LINK
from necroscope.remedies.actions.remove_links import REMOVE_LINKS, links_of
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.apply.audit_log import REFUSED, LogLine, log_refusal
from necroscope.remedies.apply.fixes import find_fix, read_fixes
from necroscope.remedies.apply.lock import held, machine_place, read_begun
from necroscope.remedies.apply.recovery_hints import ways_out
from necroscope.remedies.apply.site import Site
from necroscope.remedies.plan.catalog import ALL_REMEDIES
from necroscope.remedies.plan.make_plan import is_of_host
from necroscope.sources.host import Host

LEFT = (FixState.UNFINISHED, FixState.UNDOING)


@contextmanager
def begun_alone(site: Site, treatments: tuple[str, ...]) -> Iterator[None]:
    """Keep others out of a new fix, and log what is refused inside."""
    with _alone(site, LogLine(REFUSED, treatments=treatments, command="--apply")):
        refuse_unfinished(site.store, site.host)
        yield


@contextmanager
def reopened(id: str, site: Site, how: str) -> Iterator[Fix]:
    """Open a fix to go on with it or take it back; others are kept out, and refusals inside logged."""
    with _alone(site, LogLine(REFUSED, fix=id, command=how)):
        fix = find_fix(site.store, id)
        refuse_other_host(fix, site.host)
        refuse_foreign_record(fix, site.host)
        refuse_unfinished(site.store, site.host, but=id)
        yield fix


@contextmanager
def _alone(site: Site, line: LogLine) -> Iterator[None]:
    try:
        refuse_without_root(site.host)
        with held(site.store, site.host):
            refuse_begun_elsewhere(site.store, site.host)
            yield
    except RefusedError as error:
        log_refusal(site.store, site.who, line, error)
        raise


def refuse_without_root(host: Host) -> None:
    """A running machine is changed by root alone; an image by whoever owns its files."""
    if host.is_live and os.geteuid() != 0:
        raise RefusedError("only root may change this machine", hint="run it with sudo; nothing was changed")


def refuse_other_host(fix: Fix, host: Host) -> None:
    """A fix is of one machine or of one image."""
    if is_of_host(fix.plan, host):
        return
    where = f"{fix.plan.host or 'a host without a name'} ({fix.plan.root})"
    hint = f"run it there, or with {shell_command(option('--root', fix.plan.root))}"
    raise RefusedError(f"{fix.id} is a fix of {where}, not of {host.root} here", hint=hint)


def refuse_unfinished(store: Path, host: Host, *, but: str = "") -> None:
    """No new change while an older one is half done, or its record cannot be read."""
    known = read_fixes(store)
    for damaged in known.damaged:
        if damaged.folder.name != but:
            hint = (
                damaged.error.hint or "restore it, or move the folder away once you know what it has changed"
            )
            raise StoreError(f"the record of an older fix is damaged: {damaged.error.what}", hint=hint)
    for fix in left_in_the_middle(known.fixes, host):
        if fix.id != but:
            raise FixHeldError(f"{fix.id} ended in the middle", hint=ways_out(fix, store))


def refuse_begun_elsewhere(store: Path, host: Host) -> None:
    """The same for a fix of this machine whose record is in another store."""
    begun = read_begun(host)
    if begun is None or Path(begun.store) == store.resolve():
        return
    elsewhere = Path(begun.store)
    try:
        fix = find_fix(elsewhere, begun.id)
    except NecroscopeError as error:
        what = f"{begun.id} of the store {elsewhere} may have ended in the middle: {error.what}"
        note = place.folder / place.note if (place := machine_place(host)) else ""
        hint = f"use that store; where it is lost, find out what was changed, then remove {note}"
        raise FixHeldError(what, hint=hint) from error
    for left in left_in_the_middle((fix,), host):
        what = f"{left.id} ended in the middle; its record is in the store {elsewhere}"
        raise FixHeldError(what, hint=ways_out(left, elsewhere))


def left_in_the_middle(fixes: tuple[Fix, ...], host: Host) -> list[Fix]:
    """The fixes of this host that are neither done nor taken back."""
    return [fix for fix in fixes if fix.state in LEFT and is_of_host(fix.plan, host)]


def refuse_vital(vital: tuple[str, ...], *, even_vital: bool) -> None:
    """Refuse to stop what the node cannot do without, unless that was asked for."""
    if vital and not even_vital:
        hint = "nothing was changed; pass --even-vital to stop it anyway"
        raise RefusedError(f"the node cannot do without what this stops: {'; '.join(vital)}", hint=hint)


def refuse_not_writable(plan: Plan, host: Host) -> None:
    """Not where a folder that has to be changed cannot be: read-only, immutable, or somebody else's."""
    for name in dict.fromkeys(name for step in plan.steps for name in _names(step)):
        folder = _nearest(host, name)
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            what = f"{name} cannot be changed: {folder} is read-only, or not ours to write"
            raise RefusedError(what, hint="mount it for writing, or be its owner; nothing was changed")


def _names(step: Step) -> Iterator[str]:
    if step.action in (WRITE_FILE.id, MAKE_LINK.id):
        yield step.target
    elif step.action == REMOVE_LINKS.id:
        yield from links_of(step)


def _nearest(host: Host, name: str) -> Path:
    """The folder of a file, or where that has to be made, the one in which it will be."""
    folder = name.rpartition("/")[0]
    while folder and not host.path(folder).is_dir():
        folder = folder.rpartition("/")[0]
    return host.path(folder or "/")


def refuse_foreign_record(fix: Fix, host: Host) -> None:
    """Not if a step, or the state before it, cannot be ours. Raises RefusedError."""
    befores = [progress.before for progress in fix.progress]
    if why := why_foreign(fix.plan.treatments, fix.plan.steps, befores, host):
        hint = f"see who has changed the record, and move its folder away ({fix.id}); nothing was changed"
        raise RefusedError(f"the record of {fix.id} is not of a fix of ours: {why}", hint=hint)


def why_foreign(
    treatments: Sequence[Treatment], steps: Sequence[Step], befores: Sequence[State], host: Host
) -> str:
    """Why a step, or the state before it, cannot be ours, and which; empty if all can."""
    for number, (step, before) in enumerate(zip(steps, befores, strict=True), start=1):
        if why := _why_foreign(treatments, step, before, host):
            return f"step {number} ({step.action[:80]} {step.target[:200]}): {why}"
    return ""


def _why_foreign(treatments: Sequence[Treatment], step: Step, before: State, host: Host) -> str:
    action = ALL_ACTIONS.get(step.action)
    if action is None:
        return "there is no such action"
    if why := action.why_not_ours(host, step, before):
        return why
    why = "no treatment has such a step"
    for one in treatments:
        why_not_planned = ALL_REMEDIES[one.remedy].steps.get(step.action)
        if why_not_planned and not (why := why_not_planned(host, one.subject, step, before)):
            return ""
    return why
