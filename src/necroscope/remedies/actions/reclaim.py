"""Reclaim memory of a v2 cgroup and all below it: memory.reclaim.

It is asked for portions that double, as long as zombies are left below: the kernel answers EAGAIN once it
finds no more to give back, which is no failure. Memory of processes is left alone where the kernel can be
told to (it understands swappiness=0); else it may go to swap, if there is any.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from necroscope.model.plan import Step
from necroscope.remedies.actions.counting import limit
from necroscope.remedies.actions.purge import cgroup_of, purge_cgroup
from necroscope.sources.host import Host
from necroscope.sources.zombie_parents import zombies_below
from necroscope.sources.zombie_pins import parse_memory_stat

FILE = "memory.reclaim"
VALUE = "in portions"
FILES_ONLY = " swappiness=0"
A_MOMENT_SECONDS = 0.3  # the first of them are freed


def _let_go(host: Host, step: Step) -> None:
    os.sync()  # dirty pages would be skipped
    place = host.path(f"{step.target}/{FILE}")
    portion = int(limit("portion"))
    asked, most = 0, _page_cache_bytes(host, step.target)
    while zombies_below(host, step.target) and asked <= most:
        if not _ask(place, portion):
            break
        asked += portion
        portion *= 2
        time.sleep(A_MOMENT_SECONDS)


def _why_not(host: Host, step: Step, _zombies: int) -> str:
    if zombies_below(host, step.target):
        return ""
    return f"no zombies are left below {cgroup_of(host, step.target)}"


def _ask(place: Path, portion: int) -> bool:
    """Whether there was as much to give back."""
    for words in (f"{portion}{FILES_ONLY}", f"{portion}"):
        try:
            place.write_text(words)
        except OSError as error:
            if error.errno == errno.EINVAL and words.endswith(FILES_ONLY):  # an older kernel
                continue
            if error.errno == errno.EAGAIN:
                return False
            raise
        return True
    return False


def _page_cache_bytes(host: Host, cgroup: str) -> int:
    stat = host.read(f"{cgroup}/memory.stat").parsed(parse_memory_stat).value or {}
    return stat.get("file", 0)


RECLAIM = purge_cgroup("reclaim", 2, VALUE, _let_go, _why_not)
