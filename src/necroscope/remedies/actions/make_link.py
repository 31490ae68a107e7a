"""Make a link where nothing is, such as the mask of a unit.

Target   the path of the link, as the machine calls it
Value    where it leads: /dev/null for a mask
"""

from __future__ import annotations

import errno

from necroscope.errors import ChangeError
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.files import (
    drop_name,
    make_folders,
    missing_folders,
    place_of,
    put_link,
    read_link,
    reload_for,
    remove_folders,
)
from necroscope.remedies.actions.record_rules import (
    FOLDERS_MADE,
    why_not_folders_made,
    why_not_led,
    why_not_unit,
    why_other_keys,
)
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_tree import MASK, PERSISTENT


def _look(host: Host, step: Step) -> State:
    return {FOLDERS_MADE: "\n".join(missing_folders(host, step.target))}


def _there(host: Host, step: Step) -> str | None:
    """Where the link leads that is there; None where nothing is."""
    try:
        return read_link(place_of(host, step.target))
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise ChangeError(f"{step.target} is there already, and no link") from error


def _do(host: Host, step: Step) -> str:
    there = _there(host, step)
    if there not in (None, step.value):
        raise ChangeError(f"{step.target} is there already, and leads to {there}")
    if there is None:
        make_folders(host, step.target)
        put_link(place_of(host, step.target), step.value)
    reload_for(host, step.target)
    return f"{step.target} leads to {step.value}"


def _check(host: Host, step: Step) -> str:
    there = _there(host, step)
    return "" if there == step.value else f"{step.target} leads to {there or 'nowhere'}"


def _undo(host: Host, step: Step, before: State) -> None:
    there = _there(host, step)
    if there not in (None, step.value):
        raise ChangeError(f"{step.target} leads to {there} now; it is not ours to remove")
    if there is not None:
        drop_name(place_of(host, step.target))
    remove_folders(host, tuple(before[FOLDERS_MADE].splitlines()))
    reload_for(host, step.target)


def _check_undone(host: Host, step: Step, _before: State) -> str:
    return f"{step.target} is still there" if _there(host, step) is not None else ""


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    """Only masks of units."""
    folder, _, name = step.target.rpartition("/")
    if folder != PERSISTENT or step.value != MASK:
        return f"no remedy makes this link, to {step.value[:80]!r}"
    return (
        why_not_unit(name)
        or why_not_led(host, step.target)
        or why_other_keys(before, [FOLDERS_MADE])
        or why_not_folders_made(step.target, before)
    )


MAKE_LINK = Action("make-link", _look, _do, _check, _undo, _check_undone, _why_not_ours)
