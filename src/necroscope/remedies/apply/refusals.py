"""What keeps a fix from being carried out, gone on with or taken back, whatever it is."""

from __future__ import annotations

import os
from pathlib import Path

from necroscope.errors import FixHeldError, NecroscopeError, RefusedError, StoreError
from necroscope.model.fix import Fix, FixState
from necroscope.model.shell_command import option, shell_command
from necroscope.remedies.apply.fixes import find_fix, read_fixes
from necroscope.remedies.apply.machine_lock import machine_place, read_begun
from necroscope.remedies.apply.recovery_hints import ways_out
from necroscope.remedies.plan.plan_check import is_of_host
from necroscope.sources.host import Host

LEFT = (FixState.UNFINISHED, FixState.UNDOING)


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
