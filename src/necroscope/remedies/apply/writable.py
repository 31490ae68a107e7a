"""Whether the files of a plan can be written at all: a file system that is read-only is found before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from necroscope.errors import RefusedError
from necroscope.model.plan import Plan, Step
from necroscope.remedies.actions.make_link import MAKE_LINK
from necroscope.remedies.actions.remove_links import REMOVE_LINKS
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.sources.host import Host


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
        yield from (line.partition(" -> ")[0] for line in step.value.splitlines())


def _nearest(host: Host, name: str) -> Path:
    """The folder of a file, or where that has to be made, the one in which it will be."""
    folder = name.rpartition("/")[0]
    while folder and not host.path(folder).is_dir():
        folder = folder.rpartition("/")[0]
    return host.path(folder or "/")
