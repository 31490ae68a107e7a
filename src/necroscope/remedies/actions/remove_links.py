"""Remove the links that enable a unit, and no others; the folders that they lie in are kept.

Target   the unit
Value    PATH -> TEXT, one link a line, the path as the machine calls it
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from necroscope.errors import ChangeError
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.action import Action
from necroscope.remedies.actions.files import (
    drop_name,
    make_folders,
    place_of,
    put_link,
    read_link,
)
from necroscope.remedies.actions.record_rules import why_not_owner, why_not_unit, why_not_unit_link
from necroscope.remedies.actions.systemd import reload_systemd
from necroscope.sources.host import Host

ARROW = " -> "
OWNER = "owner of "


def links_text(links: Mapping[str, str]) -> str:
    """The value of a step that removes these links."""
    return "\n".join(f"{path}{ARROW}{text}" for path, text in sorted(links.items()))


def links_of(step: Step) -> dict[str, str]:
    """The links that a step removes, and where each leads."""
    rows = (line.partition(ARROW) for line in step.value.splitlines())
    return {path: text for path, _, text in rows}


def _look(host: Host, step: Step) -> State:
    found: dict[str, str] = {}
    for path in links_of(step):
        place = place_of(host, path)
        text = read_link(place)
        if text is not None:
            found |= {path: text, OWNER + path: _owner(place)}
    return found


def _owner(place: Path) -> str:
    status = place.lstat()
    return f"{status.st_uid}:{status.st_gid}"


def _texts(before: State) -> dict[str, str]:
    return {path: text for path, text in before.items() if not path.startswith(OWNER)}


def _do(host: Host, step: Step) -> str:
    links = links_of(step)
    for path, text in links.items():
        place = place_of(host, path)
        there = read_link(place)
        if there is not None and there != text:
            raise ChangeError(f"{path} leads to {there} now, and not to {text}")
        if there is not None:
            drop_name(place)
    reload_systemd(host)
    return f"removed {', '.join(links)}"


def _check(host: Host, step: Step) -> str:
    left = [path for path in links_of(step) if read_link(place_of(host, path)) is not None]
    return f"still there: {', '.join(left)}" if left else ""


def _undo(host: Host, step: Step, before: State) -> None:
    for path, text in _texts(before).items():
        place = place_of(host, path)
        there = read_link(place)
        if there is not None and there != text:
            raise ChangeError(f"{path} is there again, and leads to {there}", hint=f"it led to {text}")
        if there is None:
            make_folders(host, path)
            put_link(place, text)
        if _has_other_owner(place, before.get(OWNER + path)):
            os.lchown(place, *map(int, before[OWNER + path].split(":")))
    reload_systemd(host)


def _has_other_owner(place: Path, owner: str | None) -> bool:
    # Records of older releases have none.
    return owner is not None and _owner(place) != owner


def _check_undone(host: Host, step: Step, before: State) -> str:
    missing = [
        path
        for path, text in _texts(before).items()
        if read_link(place := place_of(host, path)) != text
        or _has_other_owner(place, before.get(OWNER + path))
    ]
    return f"not as before: {', '.join(missing)}" if missing else ""


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    """Only links that enable units, and before them the same links, of root's."""
    links = links_of(step)
    if not _texts(before).items() <= links.items():
        return "the links before it are not those that it removes"
    owners = {key.removeprefix(OWNER): owner for key, owner in before.items() if key.startswith(OWNER)}
    if not owners.keys() <= links.keys():
        return "it has owners of other links"
    reasons = (
        why_not_unit(step.target),
        *(why_not_unit_link(host, path, text) for path, text in links.items()),
        *(why_not_owner(host, owner) for owner in owners.values()),
    )
    return next(filter(None, reasons), "")


REMOVE_LINKS = Action("remove-links", _look, _do, _check, _undo, _check_undone, _why_not_ours)
