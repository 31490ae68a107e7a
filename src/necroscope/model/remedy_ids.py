"""What can be done about a finding, by id: what a finding names, and what `fix` plans and carries out."""

from __future__ import annotations

DISABLE_UNIT = "disable-unit"
LIMIT_CRASH_LOOP = "limit-crash-loop"
PURGE_ZOMBIES = "purge-zombies"
CLEAN_BEFORE_REMOVAL = "clean-before-removal"
MOVE_INTERRUPTS = "move-interrupts"
REBOOT = "reboot"
UPGRADE_KERNEL = "upgrade-kernel"
MOVE_TO_CGROUP_V2 = "move-to-cgroup-v2"

REMEDIES: dict[str, str] = {
    DISABLE_UNIT: "stop a unit, disable it, and mask it where something else could start it again",
    LIMIT_CRASH_LOOP: "bound the restarts of a unit that has to stay enabled (StartLimitIntervalSec=,"
    " StartLimitBurst= in a drop-in)",
    PURGE_ZOMBIES: "free zombie memory cgroups without a reboot, as far as what holds them can be let go",
    CLEAN_BEFORE_REMOVAL: "have a unit's memory cgroup emptied before systemd removes it (a drop-in)",
    MOVE_INTERRUPTS: "move the interrupts of the NICs off a core, until its load is gone",
    REBOOT: "reboot, which frees all zombies until they have leaked again; advised only, never done",
    UPGRADE_KERNEL: "the kernel that no longer leaks or no longer walks zombies; advised only",
    MOVE_TO_CGROUP_V2: "boot with cgroup v2; advised only",
}

# For a unit: the first of these that is asked for is enough.
OF_A_UNIT = (DISABLE_UNIT, LIMIT_CRASH_LOOP, CLEAN_BEFORE_REMOVAL)
# What has to be named with a remedy, as `fix` has it in its help.
SUBJECTS: dict[str, str] = {**dict.fromkeys(OF_A_UNIT, "UNIT"), MOVE_INTERRUPTS: "CORE"}
OF_ZOMBIES = (PURGE_ZOMBIES, REBOOT, UPGRADE_KERNEL, MOVE_TO_CGROUP_V2)
# Left to people: they have no steps.
ADVICE = (REBOOT, UPGRADE_KERNEL, MOVE_TO_CGROUP_V2)
