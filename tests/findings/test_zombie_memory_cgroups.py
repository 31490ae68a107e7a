from __future__ import annotations

from necroscope.findings.zombie_memory_cgroups import zombie_memory_cgroups
from necroscope.model.finding import Severity
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from tests.segments import evidence, look, segment_of


def cgroups(in_use: int, dying: int) -> MemoryCgroups:
    return MemoryCgroups(
        HierarchyCount("memory (v1)", 1, in_use + dying, in_use, dying, "/proc/cgroups"), (), 1 << 30
    )


def test_the_incident() -> None:
    segment = segment_of({MEMORY_CGROUPS: [cgroups(240, 68_400), cgroups(240, 68_440)]})
    (finding,) = look(zombie_memory_cgroups, segment)
    facts = evidence(finding)
    assert finding.severity is Severity.CRITICAL
    assert (facts["tracked"], facts["in use"], facts["zombies"]) == (68_680, 240, 68_440)
    assert (facts["zombies added while looking"], facts["possible cores"]) == (40, 96)
    assert finding.summary == "68,440 zombie memory cgroups: 68,680 tracked by the kernel, 240 in use"


def test_the_noise_floor_of_a_busy_node_is_not_a_finding() -> None:
    assert not look(zombie_memory_cgroups, segment_of({MEMORY_CGROUPS: [cgroups(2_000, 400)]}))


def test_one_moment_is_enough() -> None:
    (finding,) = look(zombie_memory_cgroups, segment_of({MEMORY_CGROUPS: [cgroups(10, 3_000)]}))
    assert finding.severity is Severity.WARNING
