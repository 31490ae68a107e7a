from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from necroscope.findings.memory_cgroup_leak import memory_cgroup_leak
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.source import Source
from tests.segments import BEGIN_NS, evidence, look, segment_of

COUNT = MemoryCgroups(HierarchyCount("memory (v1)", 1, 180, 80, 100, "/proc/cgroups"), (), None)
ECS = "/system.slice/ecs.service"


def group(pattern: str, made: int, zombies: int, creator: str = "systemd", *, unit: str = "") -> LedgerGroup:
    released = made - zombies
    return LedgerGroup(
        pattern, creator, "/", unit, "systemd", "init.scope", made, made, released, zombies, zombies, pattern
    )


def ledger(*groups: LedgerGroup, lost: int = 0) -> CgroupLedger:
    zombies = sum(group.zombies for group in groups)
    return CgroupLedger(BEGIN_NS, lost, 0, 0, zombies, zombies, groups, (), ())


def looked(*ledgers: CgroupLedger, seconds: int = 10) -> list[tuple[str, dict[str, object]]]:
    series: dict[Source[Any], Sequence[Any]] = {
        MEMORY_CGROUPS: [COUNT] * (seconds + 1),
        CGROUP_LEDGER: list(ledgers),
    }
    return [(finding.summary, evidence(finding)) for finding in look(memory_cgroup_leak, segment_of(series))]


def test_a_unit_that_leaks_is_named_with_its_rate() -> None:
    ((summary, facts),) = looked(ledger(), ledger(group(ECS, 12, 10)))
    assert summary == "ecs.service leaks memory cgroups: 10 in 10 s, 60 a minute"
    assert (facts["leaked while looking"], facts["leak rate"], facts["path pattern"]) == (10, 60.0, ECS)
    assert (facts["made"], facts["removed"], facts["released"]) == (12, 12, 2)
    assert (facts["made by"], facts["removed by"]) == ("systemd", "systemd")
    assert facts["zombies from before the look"] == 90
    assert "events lost" not in facts


def test_what_was_removed_in_the_last_seconds_counts_as_what_was_removed_before() -> None:
    """A start every 0.85 s leaves 700 behind; of 6 s, those of the last 3 s are no zombies yet."""
    before = ledger(group(ECS, 0, 0))
    agent = group(ECS, 4900, 2800)._replace(released=0, dying=4900)
    ((summary, _),) = looked(before, ledger(agent), seconds=6)
    assert summary == "ecs.service leaks memory cgroups: 4,900 in 6 s, 49,000 a minute"
    half = group(ECS, 100, 30)._replace(released=30, dying=70)
    ((summary, _),) = looked(before, ledger(half))
    assert summary.startswith("ecs.service leaks memory cgroups: 50 in 10 s")


def test_another_recorder_counts_from_its_own_zero() -> None:
    """Ten minutes with a restart: what the ledger before had says nothing about the zombies of this one."""
    before = ledger(group(ECS, 900, 900))
    after = [replace(ledger(group(ECS, n, n)), began_ns=BEGIN_NS + 5 * 10**9) for n in (0, 10)]
    ((summary, _),) = looked(before, *after, seconds=2)
    assert summary == "ecs.service leaks memory cgroups: 10 in 1 s, 600 a minute"
    assert not looked(before, after[1], seconds=1), "one reading of this one"


def test_every_owner_has_a_finding_of_its_own_and_its_groups_together() -> None:
    after = ledger(
        group("/docker/#", 5, 5, "runc", unit="docker.service"),
        group("/docker/#/sub", 2, 2, "runc", unit="docker.service"),
        group("/x-#", 3, 3, "leaker"),
        group(ECS, 900, 0),
        lost=4,
    )
    found = looked(ledger(), after)
    assert [summary.split()[0] for summary, _ in found] == ["docker.service", "leaker"]
    assert [facts["leaked while looking"] for _, facts in found] == [7, 3]
    assert found[0][1]["events lost"] == 4


def test_only_the_cgroup_of_a_unit_itself_can_be_emptied_by_it() -> None:
    groups = ledger(
        group(ECS, 12, 10),
        group("/docker/#", 5, 5, "runc", unit="docker.service"),
        group("/system.slice/job@#.service", 5, 5),
    )
    series: dict[Source[Any], Sequence[Any]] = {
        MEMORY_CGROUPS: [COUNT] * 11,
        CGROUP_LEDGER: [ledger(), groups],
    }
    found = look(memory_cgroup_leak, segment_of(series))
    assert [(one.subject, one.remedy) for one in found] == [
        ("ecs.service", "clean-before-removal"),
        ("docker.service", ""),
        ("", ""),
    ]


def test_a_clean_cycle_is_not_a_leak() -> None:
    assert looked(ledger(group(ECS, 10, 0)), ledger(group(ECS, 5_000, 0))) == []


def test_one_or_two_are_not_a_pattern() -> None:
    assert looked(ledger(), ledger(group(ECS, 9, 2))) == []


def test_what_had_leaked_before_and_does_not_grow_is_not_a_leak_now() -> None:
    assert looked(ledger(group(ECS, 70, 60)), ledger(group(ECS, 80, 62))) == []


def test_one_reading_says_nothing() -> None:
    assert look(memory_cgroup_leak, segment_of({CGROUP_LEDGER: [ledger(group(ECS, 70, 60))]})) == []
