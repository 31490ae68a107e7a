"""What the program does about zombies on this kernel: the purge, and emptying a cgroup before its removal."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lab.scenarios.kernels.leaving import SETTLE_SECONDS, Files, leave, parent_of_zombies
from necroscope.remedies.actions.catalog import ALL_ACTIONS
from necroscope.remedies.actions.counting import count_zombies
from necroscope.remedies.plan.clean_before_removal import SCRIPT
from necroscope.remedies.plan.purge_zombies import plan_purge_zombies
from necroscope.sources.hierarchies import Hierarchy
from necroscope.sources.host import Host

UNITS = 10
WARM_UPS = 3  # the shell and its libraries are read once
SPLIT = ((0, WARM_UPS), (WARM_UPS, UNITS), (WARM_UPS + UNITS, UNITS))  # where the files of each begin
FILES = WARM_UPS + 2 * UNITS


def purge(host: Host, subject: str) -> dict[str, Any]:
    """Plan, do each step, and count before and after."""
    before = count_zombies(host)
    part = plan_purge_zombies(host, subject)
    again = plan_purge_zombies(host, part.subject)
    steps = [
        {
            "action": step.action,
            "target": step.target,
            "value": step.value,
            "did": ALL_ACTIONS[step.action].do(host, step),
            "amiss": ALL_ACTIONS[step.action].check(host, step),
        }
        for step in part.steps
    ]
    after = count_zombies(host)
    commands = [command for advice in part.by_hand for command in advice.commands]
    return {
        "before": before,
        "after": after,
        "steps": steps,
        "actions": [step["action"] for step in steps],
        "last": [step["action"] + " " + step["value"] for step in steps][-1:],
        "amiss": [step["amiss"] for step in steps if step["amiss"]],
        "warnings": list(part.warnings),
        "freed": before - after,
        "is_same_again": (part.steps, part.assumptions) == (again.steps, again.assumptions),
        "can_name_files": Path("/proc/kpagecgroup").exists(),
        "names_tmpfs_files": any("rm -- /dev/shm/necroscope-lab-" in command for command in commands),
    }


def empty_before_removal(host: Host, hierarchy: Hierarchy, files: Files) -> dict[str, Any]:
    """Zombies that units leave which read a file, and that units leave which then run the script of ours."""
    warm, left, emptied = (Files(files.paths[at : at + many], "read") for at, many in SPLIT)
    with parent_of_zombies(hierarchy, "system.slice") as parent:
        before = count_zombies(host)
        leave(parent, warm, SCRIPT, "-warm.service")
        leave(parent, left, suffix="-left.service")
        time.sleep(SETTLE_SECONDS)
        after_left = count_zombies(host)
        leave(parent, emptied, SCRIPT, "-emptied.service")
        time.sleep(SETTLE_SECONDS)
        after_emptied = count_zombies(host)
    return {"units": UNITS, "left": after_left - before, "left_emptied": after_emptied - after_left}
