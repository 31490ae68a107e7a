"""Reclaim what a v1 memory cgroup and all below it can give back: memory.force_empty.

It takes page cache that processes have mapped as well, and that of the living. Dirty pages are written first:
they would be skipped. Nothing has to be taken back: what is needed again is read again.
"""

from __future__ import annotations

import os

from necroscope.model.plan import Step
from necroscope.remedies.actions.page_cache_zombies import page_cache_holds_none
from necroscope.remedies.actions.purge import cgroup_of, purge_cgroup
from necroscope.sources.host import Host

FILE = "memory.force_empty"
VALUE = "0"


def _let_go(host: Host, step: Step) -> None:
    os.sync()
    host.path(f"{step.target}/{FILE}").write_text(step.value)


def _why_not(host: Host, step: Step, zombies: int) -> str:
    cgroup = cgroup_of(host, step.target)
    if page_cache_holds_none(host, zombies, cgroup):
        return f"page cache holds no zombies below {cgroup}"
    return ""


FORCE_EMPTY = purge_cgroup("force-empty", 1, VALUE, _let_go, _why_not)
