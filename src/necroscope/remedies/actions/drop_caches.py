"""Drop the page cache of the whole machine, after what is dirty has been written: sync, drop_caches.

It does so only where it can help: more zombies are left than cores keep by themselves, and page cache may be
what holds a good part of them. Pages that a process has mapped, tmpfs and shared memory stay.
"""

from __future__ import annotations

import os
import re

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.actions.counting import count_zombies, noise_floor, still_falling
from necroscope.remedies.actions.page_cache_zombies import why_not_drop
from necroscope.remedies.actions.purge import purge, purge_action
from necroscope.remedies.actions.record_rules import why_not_live, why_other_keys
from necroscope.sources.host import Host

TARGET = "/proc/sys/vm/drop_caches"
VALUES = ("1", "3")  # page cache; slab, too
DROPPED = re.compile(r"^drop_pagecache (\d+)$", re.MULTILINE)


def _let_go(host: Host, step: Step) -> None:
    os.sync()
    host.path(step.target).write_text(step.value)


def _why_not(host: Host, _step: Step, zombies: int) -> str:
    return why_not_drop(host, zombies)


def _check(host: Host, step: Step) -> str:
    if (left := count_zombies(host)) <= noise_floor(host) or _why_not(host, step, left):
        return ""
    dropped = DROPPED.search(host.read("/proc/vmstat").value or "")
    if dropped and not int(dropped[1]):
        return "the kernel counts no drop of its caches (drop_pagecache in /proc/vmstat)"
    return still_falling(host)


def _why_not_ours(host: Host, step: Step, before: State) -> str:
    if step.target != TARGET or step.value not in VALUES:
        return f"no remedy writes {step.value[:80]!r} to {step.target[:80]!r}"
    return why_not_live(host) or why_other_keys(before, ())


def _do(host: Host, step: Step) -> str:
    return purge(host, step, _let_go, _why_not)


DROP_CACHES = purge_action("drop-caches", _do, _check, _why_not_ours)
