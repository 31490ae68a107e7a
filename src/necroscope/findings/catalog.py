"""The list of all detectors."""

from __future__ import annotations

from necroscope.findings.capture_gap import capture_gap
from necroscope.findings.core_saturated import core_saturated
from necroscope.findings.cpu_throttling import cpu_throttling
from necroscope.findings.detector import Detector, UnitDetector
from necroscope.findings.kernel_stall import kernel_stall
from necroscope.findings.memory_cgroup_leak import memory_cgroup_leak
from necroscope.findings.nic_reset import nic_reset
from necroscope.findings.reclaim_pressure import reclaim_pressure
from necroscope.findings.softirq_starved import softirq_starved
from necroscope.findings.unit_crash_loop import unit_crash_loop
from necroscope.findings.unit_default_enabled import unit_default_enabled
from necroscope.findings.unit_held_back import unit_held_back
from necroscope.findings.unit_orphaned_agent import unit_orphaned_agent
from necroscope.findings.userspace_kernel_lines import userspace_kernel_lines
from necroscope.findings.zombie_memory_cgroups import zombie_memory_cgroups

DETECTORS: tuple[Detector, ...] = (
    zombie_memory_cgroups,
    memory_cgroup_leak,
    core_saturated,
    softirq_starved,
    nic_reset,
    unit_crash_loop,
    unit_held_back,
    reclaim_pressure,
    cpu_throttling,
    kernel_stall,
    userspace_kernel_lines,
    capture_gap,
)

# These look at an inventory of units, which `audit` makes, and not at a segment.
UNIT_DETECTORS: tuple[UnitDetector, ...] = (unit_orphaned_agent, unit_default_enabled)

ALL_DETECTORS: tuple[Detector | UnitDetector, ...] = (*DETECTORS, *UNIT_DETECTORS)
