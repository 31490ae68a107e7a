"""Empty a unit's memory cgroup before systemd removes it."""

from __future__ import annotations

import re
from dataclasses import replace

from necroscope.model import remedy_ids as ids
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.remedies.plan.steps import drop_in_path, file_step, only_drop_in
from necroscope.remedies.plan.subject import SubjectUnit, file_assumptions, find_unit
from necroscope.sources.host import Host

STEM = "necroscope-clean"
# Written pages are let go, dirty ones are not: hence the sync. The unit's name is an argument, since it may
# hold a backslash. The kernel repeats a force_empty by itself; on v2 it is asked for all that is charged,
# more than can be had, which it answers with an error.
SCRIPT = (
    "sync; while IFS=: read -r n c p; do"
    ' case "$c" in memory|memory,*|*,memory|*,memory,*) d=/sys/fs/cgroup/memory$p; f=memory.force_empty;;'
    ' "") d=/sys/fs/cgroup$p; f=memory.reclaim;; *) continue;; esac;'
    ' case "$p" in */"$1") ;; *) continue;; esac;'
    ' [ -w "$d/$f" ] || continue;'
    ' if [ $f = memory.force_empty ]; then echo 0 >"$d/$f"; continue; fi;'
    ' for i in 1 2 3; do read -r b <"$d/memory.current"; echo "$b" >"$d/$f"; done;'
    " done </proc/self/cgroup 2>/dev/null"
)
# Between single quotes systemd takes $ and % for its own.
COMMAND = "-+/bin/sh -c '{}' sh %n".format(SCRIPT.replace("%", "%%").replace("$", "$$"))
# A record of another release, with another command, is refused.
ALLOWED = {"Service.ExecStopPost": re.compile(re.escape(COMMAND))}


def plan_clean_before_removal(host: Host, subject: str) -> Part:
    """Have a service's own memory cgroup emptied each time that it ends, before systemd removes it.

    A removed cgroup stays in the kernel as a zombie while pages are charged to it. A drop-in adds an
    ExecStopPost= that writes dirty pages out (sync) and then has the kernel let go of the cgroup's page
    cache: memory.force_empty on cgroup v1, memory.reclaim on v2 (Linux 5.19 and newer; on an older v2 it does
    nothing). It works for what the unit itself left in the page cache.

    It does not help against pages of tmpfs and shared memory, which live until their file is removed; nor
    for cgroups that the unit makes outside of its own, as an agent does for its containers; nor where the
    unit has no memory cgroup of its own (MemoryAccounting=no). Zombies that are there already stay:
    `purge-zombies`.
    """
    unit = find_unit(host, subject)
    assumptions = tuple(file_assumptions(host, unit))
    if reason := _why_not(unit):
        return Part(assumptions=assumptions, seen=(f"{unit.name} {reason}",), subject=unit.name)
    path = drop_in_path(host, unit, STEM, ())
    step = file_step(
        host,
        path,
        f"[Service]\nExecStopPost={COMMAND}\n",
        "a removed cgroup is held by the page cache that it has left: it is emptied while it is still there",
        "where sync takes longer than its TimeoutStopSec=, systemd counts the stop as failed",
    )
    cost = "each stop waits for a sync of all disks, and what it had cached is read from disk the next time"
    return Part(steps=(replace(step, cost=cost),), assumptions=assumptions, subject=unit.name)


def _why_not(unit: SubjectUnit) -> str:
    if not unit.name.endswith(".service") or unit.file is None:
        return "is no service with a file of its own, and runs nothing when it stops"
    if unit.state.startswith("masked"):
        return "is masked, and leaves no cgroups"
    if any(f"{STEM}.conf" in path for path in unit.file.drop_ins):
        return "has its memory cgroup emptied already"
    return ""


CLEAN_BEFORE_REMOVAL = Remedy(
    ids.CLEAN_BEFORE_REMOVAL, plan_clean_before_removal, {WRITE_FILE.id: only_drop_in(STEM, ALLOWED)}
)
