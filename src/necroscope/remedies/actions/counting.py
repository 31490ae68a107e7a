"""Zombies are counted, or it is said why they cannot be."""

from __future__ import annotations

from necroscope.errors import CannotLookError
from necroscope.sources.hierarchies import Hierarchy, find_hierarchy
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, open_memory_cgroups


def memory_hierarchy(host: Host) -> Hierarchy:
    """Where memory cgroups are; CannotLookError where they cannot be seen."""
    found = find_hierarchy(host, "memory")
    if found.value is None:
        assert found.absence
        raise CannotLookError(
            f"memory cgroups cannot be seen: {found.reason}", hint=MEMORY_CGROUPS.hint(found.absence)
        )
    return found.value


def count_memory_cgroups(host: Host) -> HierarchyCount:
    """Memory cgroups in use and dying; CannotLookError where they cannot be counted."""
    counts = open_memory_cgroups(host)()
    if counts.value is None:
        assert counts.absence
        raise CannotLookError(
            f"memory cgroups cannot be counted: {counts.reason}", hint=MEMORY_CGROUPS.hint(counts.absence)
        )
    return counts.value.memory


def count_zombies(host: Host) -> int:
    """Memory cgroups that were removed and are still there; CannotLookError where they cannot be counted."""
    return count_memory_cgroups(host).dying
