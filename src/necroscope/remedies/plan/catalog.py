"""All remedies, by id."""

from __future__ import annotations

from necroscope.remedies.plan.clean_before_removal import CLEAN_BEFORE_REMOVAL
from necroscope.remedies.plan.disable_unit import DISABLE_UNIT
from necroscope.remedies.plan.limit_crash_loop import LIMIT_CRASH_LOOP
from necroscope.remedies.plan.move_interrupts import MOVE_INTERRUPTS
from necroscope.remedies.plan.move_to_cgroup_v2 import MOVE_TO_CGROUP_V2
from necroscope.remedies.plan.purge_zombies import PURGE_ZOMBIES
from necroscope.remedies.plan.reboot import REBOOT
from necroscope.remedies.plan.remedy import Remedy
from necroscope.remedies.plan.upgrade_kernel import UPGRADE_KERNEL

ALL_REMEDIES: dict[str, Remedy] = {
    remedy.id: remedy
    for remedy in (
        DISABLE_UNIT,
        LIMIT_CRASH_LOOP,
        PURGE_ZOMBIES,
        CLEAN_BEFORE_REMOVAL,
        MOVE_INTERRUPTS,
        REBOOT,
        UPGRADE_KERNEL,
        MOVE_TO_CGROUP_V2,
    )
}
